"""Los modelos del curso, en una carpeta: su configuración y sus pesos."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import torch
from safetensors.torch import save
from torch import nn

from course_lib.files import write_atomically
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.pretrained.folders import CONFIG, WEIGHTS, PretrainedFolder

Model = TypeVar("Model", bound=nn.Module)


def load_model(folder: str | Path, kind: type[Model], config: type) -> Model:
    """Lee un modelo guardado con `save_model`.

    Los pesos pueden estar en float16; el modelo calcula siempre en float32, de modo que da lo mismo
    en cualquier CPU.

    Argumentos:
        folder: la carpeta, con config.json y model.safetensors.
        kind, config: la clase del modelo y la de su configuración, como `TextClassifier` y
            `TextClassifierConfig`.

    Devuelve:
        El modelo, en modo de evaluación.

    Errores:
        ValueError: si la carpeta no existe o le falta algo, la configuración no es la de esa
            clase, o falta, sobra o no tiene su forma algún tensor.
    """
    source = PretrainedFolder(folder)
    # JSON no distingue una lista de una tupla, y una configuración solo tiene tuplas.
    read = {k: tuple(v) if isinstance(v, list) else v for k, v in source.config.items()}
    try:
        model = kind(config(**read))
    except TypeError as error:
        raise ValueError(
            f"{source.path / CONFIG}: se esperaban los nombres de `{config.__name__}` ({error}). "
            f"¿Se guardó un {kind.__name__}?"
        ) from error
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(source.take(name, *parameter.shape))
    source.require_all_taken()
    return model.eval()


def save_model(model: nn.Module, folder: str | Path) -> None:
    """Guarda un modelo con `config`: config.json y model.safetensors, con los pesos en float16.

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


def load_transformer(folder: str | Path) -> Transformer:
    """Lee un Transformer; lo demás, como `load_model`."""
    return load_model(folder, Transformer, TransformerConfig)


def save_transformer(model: Transformer, folder: str | Path) -> None:
    """Guarda un Transformer; lo demás, como `save_model`."""
    save_model(model, folder)


def load_palm(folder: str | Path) -> PaLM:
    """Lee un PaLM; lo demás, como `load_model`."""
    return load_model(folder, PaLM, PaLMConfig)


def save_palm(model: PaLM, folder: str | Path) -> None:
    """Guarda un PaLM; lo demás, como `save_model`."""
    save_model(model, folder)
