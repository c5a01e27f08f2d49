"""Un Transformer del curso, en una carpeta: su configuración y sus pesos."""

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save

from course_lib.files import write_atomically
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.pretrained.folders import CONFIG, WEIGHTS, PretrainedFolder


def load_transformer(folder: str | Path) -> Transformer:
    """Lee un Transformer guardado con `save_transformer`.

    Los pesos pueden estar en float16; el modelo calcula siempre en float32, de modo que escribe lo
    mismo en cualquier CPU.

    Argumentos:
        folder: la carpeta, con config.json y model.safetensors.

    Devuelve:
        El modelo, en modo de evaluación.

    Errores:
        ValueError: si la carpeta no existe o le falta algo, la configuración no es la de un
            `TransformerConfig`, o falta, sobra o no tiene su forma algún tensor.
    """
    source = PretrainedFolder(folder)
    try:
        model = Transformer(TransformerConfig(**source.config))
    except TypeError as error:
        raise ValueError(
            f"{source.path / CONFIG}: se esperaban los nombres de `TransformerConfig` ({error}). "
            "¿Se guardó con save_transformer?"
        ) from error
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(source.take(name, *parameter.shape))
    source.require_all_taken()
    return model.eval()


def save_transformer(model: Transformer, folder: str | Path) -> None:
    """Guarda un Transformer: config.json y model.safetensors, con los pesos en float16.

    Argumentos:
        model: el modelo; no cambia.
        folder: la carpeta; se crea si falta. Cada archivo se escribe entero o no se escribe.
    """
    path = Path(folder)
    # Cada tabla, una vez, aunque la compartan el origen, el destino y la salida.
    weights = {name: p.detach().half().contiguous() for name, p in model.named_parameters()}
    write_atomically(path / WEIGHTS[0], save(weights, {"format": "pt"}))
    config = json.dumps(asdict(model.config), indent=2, ensure_ascii=False) + "\n"
    write_atomically(path / CONFIG, config.encode("utf-8"))
