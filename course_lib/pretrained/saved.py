"""Los modelos del curso, en una carpeta: su configuración y sus pesos."""

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save
from torch import nn

from course_lib.files import write_atomically
from course_lib.models.palm import PaLM, PaLMConfig
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
    return _load(folder, Transformer, TransformerConfig)


def save_transformer(model: Transformer, folder: str | Path) -> None:
    """Guarda un Transformer: config.json y model.safetensors, con los pesos en float16.

    Argumentos:
        model: el modelo; no cambia.
        folder: la carpeta; se crea si falta. Cada archivo se escribe entero o no se escribe.
    """
    _save(model, folder)


def load_palm(folder: str | Path) -> PaLM:
    """Lee un PaLM guardado con `save_palm`; lo demás, como `load_transformer`."""
    return _load(folder, PaLM, PaLMConfig)


def save_palm(model: PaLM, folder: str | Path) -> None:
    """Guarda un PaLM; lo demás, como `save_transformer`."""
    _save(model, folder)


def _load(folder, kind, config):
    source = PretrainedFolder(folder)
    try:
        model = kind(config(**source.config))
    except TypeError as error:
        raise ValueError(
            f"{source.path / CONFIG}: se esperaban los nombres de `{config.__name__}` ({error}). "
            f"¿Se guardó con save_{kind.__name__.lower()}?"
        ) from error
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(source.take(name, *parameter.shape))
    source.require_all_taken()
    return model.eval()


def _save(model: nn.Module, folder: str | Path) -> None:
    path = Path(folder)
    # Cada tabla, una vez, aunque la compartan el origen, el destino y la salida.
    weights = {name: p.detach().half().contiguous() for name, p in model.named_parameters()}
    write_atomically(path / WEIGHTS[0], save(weights, {"format": "pt"}))
    config = json.dumps(asdict(model.config), indent=2, ensure_ascii=False) + "\n"
    write_atomically(path / CONFIG, config.encode("utf-8"))
