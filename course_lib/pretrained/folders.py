"""Una carpeta de Hugging Face: la configuración y los tensores, leídos sin ejecutar nada ajeno."""

import json
import re
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
KINDS = {int: "un entero", float: "un número", bool: "true o false", list: "una lista de enteros"}


class PretrainedFolder:
    """Lo que guarda `save_pretrained`: `config.json` y los pesos, en `.safetensors` o en `.bin`.

    Los pesos partidos en varios archivos también valen, con su índice (`….index.json`). De un
    `.bin` solo se leen tensores (`weights_only=True`): lo que otro objeto quiera ejecutar se
    rechaza. No se descarga nada.

    Argumentos:
        folder: la carpeta, en este disco.

    Errores:
        ValueError: si la carpeta no existe, o le falta la configuración o los pesos, o no se leen.

    Fuente: documentación de `transformers`, `PreTrainedModel.save_pretrained`.
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder)
        if not self.path.is_dir():
            raise ValueError(
                f"Se esperaba la carpeta de un modelo guardado con save_pretrained y llegó "
                f"«{self.path}», que no es una carpeta de este disco. Aquí no se descarga nada."
            )
        self.config = self._read_json(CONFIG)
        if not isinstance(self.config, dict):
            raise ValueError(
                f"{self.path / CONFIG}: se esperaba un objeto, con un valor por nombre, y llegó "
                f"{type(self.config).__name__}."
            )
        self.tensors = self._read_tensors()
        self.taken: set[str] = set()

    def setting(self, name: str, *supported: Any, kind: type | None = None) -> Any:
        """Da un valor de la configuración; exige su tipo y que se admita, si se dicen.

        Argumentos:
            name: cómo se llama.
            supported: los valores que se admiten; si no hay ninguno, todos.
            kind: int, float, bool o list (de enteros).

        Errores:
            ValueError: si falta, no es de ese tipo o no se admite; lo nombra.
        """
        if name not in self.config:
            raise ValueError(f"{CONFIG}: falta «{name}», que hace falta para armar el modelo.")
        value = self.config[name]
        if kind and not _is(value, kind):
            raise ValueError(f"{CONFIG}: «{name}»: se esperaba {KINDS[kind]} y llegó {value!r}.")
        if supported and value not in supported:
            options = ", ".join(map(repr, supported))
            raise ValueError(f"{CONFIG}: «{name}» vale {value!r} y el curso solo admite {options}.")
        return value

    def optional(self, name: str, default: Any, kind: type) -> Any:
        """Como `setting`, pero si no está o es `null` da el valor de siempre."""
        return default if self.config.get(name) is None else self.setting(name, kind=kind)

    def take(self, name: str, *shape: int) -> Tensor:
        """Da el tensor que lleva ese nombre.

        Errores:
            ValueError: si falta, no tiene esa forma o no es de números reales; lo nombra.
        """
        if name not in self.tensors:
            raise ValueError(
                f"En los pesos de «{self.path}» falta el tensor «{name}», de forma {shape}. "
                "¿Son de otra clase de modelo, o de otra configuración?"
            )
        tensor = self.tensors[name]
        if tensor.shape != shape:
            raise ValueError(
                f"El tensor «{name}»: se esperaba la forma {shape}, según {CONFIG}, y llegó "
                f"{tuple(tensor.shape)}."
            )
        if not tensor.is_floating_point() or tensor.layout != torch.strided or tensor.is_meta:
            raise ValueError(
                f"El tensor «{name}»: se esperaban números reales, todos guardados, y llegó un "
                f"tensor {tensor.dtype}, {tensor.layout}, en {tensor.device}. ¿Está cuantizado?"
            )
        self.taken.add(name)
        return tensor

    def require_all_taken(self, *ignored: str) -> None:
        """Exige que no sobre ningún tensor, salvo los que `ignored` (expresiones regulares) cubre.

        Errores:
            ValueError: si sobra alguno; los nombra.
        """
        rest = sorted(self.tensors.keys() - self.taken)
        unknown = [name for name in rest if not any(re.fullmatch(p, name) for p in ignored)]
        if unknown:
            raise ValueError(
                f"En los pesos de «{self.path}» sobran tensores que {CONFIG} no explica: "
                f"{', '.join(unknown[:5])}{'…' if len(unknown) > 5 else ''}."
            )

    def _read_tensors(self):
        for name in WEIGHTS:
            if (self.path / name).is_file():
                return _tensors(self.path / name)
            if (self.path / f"{name}.index.json").is_file():
                return self._read_shards(f"{name}.index.json")
        raise ValueError(f"En «{self.path}» no hay pesos: se esperaba {' o '.join(WEIGHTS)}.")

    def _read_shards(self, index):
        tensors = {}
        shards = self._read_json(index)
        if not isinstance(shards, dict) or not isinstance(shards.get("weight_map"), dict):
            raise ValueError(f"{index}: falta «weight_map», el archivo de cada tensor.")
        for shard in sorted(set(shards["weight_map"].values())):
            file = self.path / Path(shard).name
            if not file.is_file():
                raise ValueError(f"En «{self.path}» falta {shard}, que {index} nombra.")
            tensors |= _tensors(file)
        return tensors

    def _read_json(self, name):
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ValueError(f"En «{self.path}» falta {name}.") from None
        except ValueError as error:
            raise ValueError(f"{self.path / name} no es JSON válido: {error}.") from None


def _tensors(file):
    try:
        if file.suffix == ".safetensors":
            return load_file(file)
        tensors = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # un archivo dañado falla de muchas maneras (KeyError, OSError…)
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{file} no es un archivo de tensores: {reason}") from error
    if not isinstance(tensors, dict) or not all(map(_is_entry, tensors.items())):
        raise ValueError(
            f"{file}: se esperaban tensores con nombre, los de state_dict(), y llegó otra cosa. "
            "¿Es un punto de control de entrenamiento, con los pesos dentro?"
        )
    return tensors


def _is_entry(item: tuple[Any, Any]) -> bool:
    name, tensor = item
    return isinstance(name, str) and isinstance(tensor, Tensor)


def _is(value, kind):
    """El tipo de un valor de JSON: true no es un entero, y un entero sí es un número."""
    if kind is list:
        return isinstance(value, list) and all(_is(each, int) for each in value)
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    return isinstance(value, (int, float) if kind is float else kind)
