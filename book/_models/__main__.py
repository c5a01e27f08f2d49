"""Preentrena el modelo del libro y lo guarda: `python -m book._models bert [--out CARPETA]`.

Deja dos carpetas en el formato de Hugging Face, en float16, que el capítulo lee con `load_bert`:
`bert`, al final, y `bert_brief`, como iba en el paso 1500. Tarda unos ocho minutos de un núcleo; en
la misma máquina y con las mismas versiones sale siempre el mismo.
"""

import argparse
import sys
from copy import deepcopy
from functools import partial
from pathlib import Path

from book._models.pretraining import pretrain
from course_lib.pretrained import save_bert

HERE = Path(__file__).parent
STEPS, BRIEF, REPORT_EVERY = 6500, 1500, 250


def main() -> int:
    parser = argparse.ArgumentParser(description="Preentrena el modelo del libro.")
    parser.add_argument("model", choices=["bert"], help="el único que hay")
    parser.add_argument("--out", type=Path, default=HERE, help="carpeta de destino")
    options = parser.parse_args()
    model, tokenizer, history = pretrain(STEPS, partial(on_step, folder=options.out))
    save_bert(model.half(), tokenizer, options.out / "bert")
    print(f"pérdida: de {history.loss[0]:.2f} a {history.smoothed()[-1]:.2f}")
    return 0


def on_step(step, model, tokenizer, folder):
    """Dice por dónde va y guarda el modelo a medias."""
    if step == BRIEF:
        save_bert(deepcopy(model).half(), tokenizer, folder / "bert_brief")
    if step % REPORT_EVERY == 0:
        print(f"paso {step} de {STEPS}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
