"""Entrena un modelo del libro y lo guarda: `python -m book._models NOMBRE [--out CARPETA]`.

- `bert`: dos carpetas en el formato de Hugging Face, en float16, que el capítulo lee con
  `load_bert`: `bert`, al final, y `bert_brief`, como iba en el paso 1500. Unos ocho minutos de un
  núcleo.
- `translator`: el traductor de recetas, en float16, que el capítulo lee con `load_transformer`; su
  tokenizador; lo que pasó al entrenarlo (`training.json`), y su ficha (`README.md`). Unos siete
  minutos de un núcleo.
- `messages`: el traductor de mensajes reales, en las dos direcciones, de los catálogos que haya en
  `--data`. Pensado para una GPU: `--device cuda`. Deja un punto de control en `_build`, y sigue
  desde él.
- `palm`: el que escribe recetas de un título, en float16, y su tokenizador. También para una GPU.
- `text_classifier`, `five_tasks`, `universal_transformer` y `transformer_xl`: los de esos
  capítulos, para sus laboratorios (`five_tasks` es el de `fine_tuning`). Unos minutos cada uno.

En la misma máquina y con las mismas versiones sale siempre el mismo.
"""

import argparse
import sys
from copy import deepcopy
from functools import partial
from pathlib import Path

from benchmarks.experiments import text_classifier, transformer_xl, universal_transformer
from book._models import (
    classifying,
    messages,
    remembering,
    searching,
    translating,
    tuning,
    writing,
)
from book._models.card import write_card
from book._models.pretraining import pretrain
from course_lib.data.messages import INSTALLED
from course_lib.pretrained import save_bert, save_model, save_palm, save_transformer

HERE = Path(__file__).parent
CHECKPOINT = HERE.parents[1] / "_build" / "messages.pt"
STEPS, BRIEF, REPORT_EVERY = 6500, 1500, 250


def main() -> int:
    parser = argparse.ArgumentParser(description="Entrena un modelo del libro.")
    parser.add_argument("model", choices=[*MAKERS, "messages", "palm"], help="cuál")
    parser.add_argument("--out", type=Path, default=HERE, help="carpeta de destino")
    parser.add_argument(
        "--data", type=Path, nargs="+", default=[INSTALLED], help="carpetas con catálogos"
    )
    parser.add_argument("--device", default="cpu", help="dónde se entrena; `messages` y `palm`")
    options = parser.parse_args()
    if options.model == "messages":
        make_messages(options.out, options.data, options.device)
    elif options.model == "palm":
        make_palm(options.out, options.device)
    else:
        MAKERS[options.model](options.out)
    return 0


def make_bert(out: Path) -> None:
    """Preentrena el BERT y lo guarda."""
    model, tokenizer, history = pretrain(STEPS, partial(on_step, folder=out))
    save_bert(model.half(), tokenizer, out / "bert")
    print(f"pérdida: de {history.loss[0]:.2f} a {history.smoothed()[-1]:.2f}")


def on_step(step, model, tokenizer, folder):
    """Dice por dónde va y guarda el modelo a medias."""
    if step == BRIEF:
        save_bert(deepcopy(model).half(), tokenizer, folder / "bert_brief")
    if step % REPORT_EVERY == 0:
        print(f"paso {step} de {STEPS}", flush=True)


def make_translator(out: Path) -> None:
    """Entrena el traductor y lo guarda; su ficha mide lo guardado, y no lo que había en memoria."""
    data, folder = translating.RecipeLines(), out / "translator"
    translator, history = translating.train_stored(data)
    save_transformer(translator.model, folder)
    translator.tokenizer.save(folder / "tokenizer.json")
    write_card(translating.training_record(folder, data, history), translating.TEXTS, folder)


def make_messages(out: Path, data: list[Path], device: str) -> None:
    """Entrena el traductor de mensajes y lo guarda; su ficha mide lo guardado."""
    lines, folder = messages.MessageLines.read(data), out / "messages"
    translator, history = messages.train_stored(lines, device=device, checkpoint=CHECKPOINT)
    save_transformer(translator.model, folder)
    translator.tokenizer.save(folder / "tokenizer.json")
    record = messages.training_record(folder, lines, history, device)
    write_card(record, messages.TEXTS, folder)


def make_palm(out: Path, device: str) -> None:
    """Entrena el PaLM que escribe recetas y lo guarda; su ficha mide lo guardado."""
    data, folder = writing.WholeRecipes(), out / "palm"
    model, history = writing.train_stored(data, device=device)
    save_palm(model, folder)
    data.tokenizer.save(folder / "tokenizer.json")
    write_card(writing.training_record(folder, data, history, device), writing.TEXTS, folder)


def make_classifier(out: Path) -> None:
    """Entrena el clasificador de opiniones y lo guarda; su ficha mide lo guardado."""
    data, folder = text_classifier.splits(classifying.SEED), out / "text_classifier"
    model, vocabulary, history = classifying.train_stored(data.train)
    save_model(model, folder)
    vocabulary.save(folder / classifying.WORDS)
    write_card(classifying.training_record(folder, data, history), classifying.TEXTS, folder)


def make_tuned(out: Path) -> None:
    """Ajusta el BERT guardado a las cinco tareas y lo guarda; su ficha mide lo guardado."""
    folder = out / "five_tasks"
    labelled, judged, measured = tuning.splits()
    model, history = tuning.train_stored(labelled, on_step=partial(on_tuned_step, judged=judged))
    tuning.save_tuned(model, folder)
    write_card(tuning.training_record(folder, labelled, measured, history), tuning.TEXTS, folder)


def on_tuned_step(step, model, judged):
    """Dice por dónde va y cuánto acierta en los ejemplos de elegir."""
    if step % (2 * REPORT_EVERY) == 0:
        print(f"paso {step} de {tuning.STEPS}: {tuning.results(model, judged)}", flush=True)


def make_searcher(out: Path) -> None:
    """Entrena el Universal Transformer que busca y lo guarda; su ficha mide lo guardado."""
    data, folder = universal_transformer.splits(searching.SEED), out / "universal_transformer"
    model, history = searching.train_stored(data)
    save_model(model, folder)
    write_card(searching.training_record(folder, data, history), searching.TEXTS, folder)


def make_reader(out: Path) -> None:
    """Entrena el Transformer-XL y lo guarda; su ficha mide lo guardado."""
    data, folder = transformer_xl.splits(remembering.SEED), out / "transformer_xl"
    model, vocabulary, history = remembering.train_stored(data)
    save_model(model, folder)
    vocabulary.save(folder / remembering.WORDS)
    write_card(remembering.training_record(folder, data, history), remembering.TEXTS, folder)


MAKERS = {
    "bert": make_bert,
    "translator": make_translator,
    "text_classifier": make_classifier,
    "five_tasks": make_tuned,
    "universal_transformer": make_searcher,
    "transformer_xl": make_reader,
}

if __name__ == "__main__":
    sys.exit(main())
