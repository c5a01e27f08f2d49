"""Puntos de control: todo lo que hace falta para seguir un entrenamiento como si no se cortara."""

import contextlib
import os
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from course_lib.training.history import History
from course_lib.training.parallel import World
from course_lib.training.randomness import random_state, set_random_state

FORMAT = "course_lib.training 1"
# Opciones de un optimizador que no cambian lo que da, sino cómo lo calcula torch.
WAYS_TO_COMPUTE = ("foreach", "fused", "capturable")


@dataclass
class Checkpoint:
    """El estado de un entrenamiento después de un paso.

    Argumentos:
        step: el último paso dado; de él sale también la tasa de aprendizaje del siguiente.
        batches: cuántos lotes se han leído desde el principio.
        model: los parámetros y constantes del modelo, por nombre.
        optimizer: el estado del optimizador.
        history: la historia hasta aquí.
        random_states: el azar de cada proceso.
        settings: lo que define el entrenamiento y no puede cambiar al reanudarlo.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import Checkpoint
        >>> model = torch.nn.Linear(2, 1)
        >>> nothing_yet = {"optimizer": {}, "history": {}, "random_states": [], "settings": {}}
        >>> checkpoint = Checkpoint(step=3, batches=3, model=model.state_dict(), **nothing_yet)
        >>> checkpoint.step, list(checkpoint.model)
        (3, ['weight', 'bias'])
    """

    step: int
    batches: int
    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    history: dict[str, Any]
    random_states: list[dict[str, Any]]
    settings: dict[str, Any]


def save_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Guarda un punto de control de una vez: queda el nuevo entero o el anterior intacto.

    Se escribe en un archivo vecino, se espera a que llegue al disco y solo entonces se le da el
    nombre definitivo, que es una operación indivisible. Ni un corte de luz deja uno a medias.

    Argumentos:
        path: adónde; las carpetas que falten se crean.
        checkpoint: lo que se guarda.

    Ejemplo:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from course_lib.training import Checkpoint, load_checkpoint, save_checkpoint
        >>> checkpoint = Checkpoint(3, 3, {}, {}, {}, [], {"seed": 0})
        >>> with TemporaryDirectory() as folder:
        ...     save_checkpoint(Path(folder) / "modelo.pt", checkpoint)
        ...     load_checkpoint(Path(folder) / "modelo.pt") == checkpoint
        True
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Siempre el mismo nombre: si el proceso muere a medias, el siguiente lo sobrescribe.
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            torch.save({"format": FORMAT, **vars(checkpoint)}, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Lee un punto de control sin ejecutar código que pudiera traer, y comprueba que esté entero.

    Argumentos:
        path: el archivo de `save_checkpoint`.

    Devuelve:
        El `Checkpoint`, con los tensores en la CPU.

    Errores:
        FileNotFoundError: si no existe.
        ValueError: si está truncado o dañado, o no es un punto de control de este curso.

    Ejemplo:
        >>> import torch
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from course_lib.training import load_checkpoint, train
        >>> model, loss = torch.nn.Linear(2, 1), lambda model, x: model(x).square().mean()
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "modelo.pt"
        ...     _ = train(model, loss, [torch.ones(4, 2)], steps=3, checkpoint=path)
        ...     saved = load_checkpoint(path)
        >>> saved.step, list(saved.model)
        (3, ['weight', 'bias'])
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"No existe el punto de control {path}.")
    with path.open("rb") as file:
        _require_intact(file, path)
        content = _safe_load(file, path)
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise ValueError(f"{path} no es un punto de control de este curso.")
    return Checkpoint(**content)


def restore(checkpoint: Checkpoint, model: nn.Module, optimizer: Optimizer) -> None:
    """Repone el modelo y el optimizador; si algo no casa, ninguno de los dos cambia.

    Errores:
        ValueError: si el modelo o el optimizador no son los del punto de control.
    """
    _require_same_model(checkpoint.model, model.state_dict())
    try:
        optimizer.load_state_dict(_as_computed_here(checkpoint.optimizer, optimizer))
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"El punto de control es de otro optimizador: {type(optimizer).__name__} no admite su "
            f"estado ({error})."
        ) from error
    model.load_state_dict(checkpoint.model)


def _as_computed_here(saved: dict[str, Any], optimizer: Optimizer) -> dict[str, Any]:
    """El estado guardado, con la manera de calcular de este optimizador: el resultado es igual."""
    if not saved:
        raise ValueError("está vacío")
    groups = [
        group | {name: own[name] for name in WAYS_TO_COMPUTE if name in own}
        for group, own in zip(saved["param_groups"], optimizer.param_groups, strict=True)
    ]
    return saved | {"param_groups": groups}


def require_same_settings(saved: dict[str, Any], current: dict[str, Any]) -> None:
    """Comprueba que se reanuda el mismo entrenamiento.

    Errores:
        ValueError: si cambió algo que cambiaría el resultado; se dice qué.
    """
    for name in [*saved, *current]:
        if saved.get(name) != current.get(name):
            raise ValueError(
                f"El punto de control es de otro entrenamiento: se guardó con {name} = "
                f"{saved.get(name)} y ahora es {current.get(name)}. Usa lo mismo para reanudarlo, "
                "otro archivo, o resume=False para empezar de nuevo."
            )


@dataclass(frozen=True)
class Keeper:
    """Guarda y repone un entrenamiento en marcha; sin archivo, no hace nada.

    Argumentos:
        path: el archivo, o None.
        every: cada cuántos pasos se guarda.
        model, optimizer, device, world: lo que se entrena, dónde y entre quiénes.
        settings: lo que no puede cambiar al reanudar.
    """

    path: str | Path | None
    every: int
    model: nn.Module
    optimizer: Optimizer
    device: torch.device
    world: World
    settings: dict[str, Any]

    def resume(self) -> tuple[int, int, History]:
        """Repone lo guardado, si lo hay: el paso, los lotes leídos y la historia."""
        found = self.path is not None and Path(self.path).exists()
        self._require_everyone(found)
        if not found:
            return 0, 0, History()
        checkpoint = load_checkpoint(self.path)
        require_same_settings(checkpoint.settings, self.settings)
        restore(checkpoint, self.model, self.optimizer)
        # Con más procesos que entonces, los nuevos conservan el azar de su semilla.
        if self.world.rank < len(checkpoint.random_states):
            set_random_state(checkpoint.random_states[self.world.rank], self.device)
        return checkpoint.step, checkpoint.batches, History(**checkpoint.history)

    def is_due(self, step: int, *, last: bool) -> bool:
        """Dice si toca guardar: cada `every` pasos y al final."""
        return self.path is not None and (last or step % self.every == 0)

    def keep(self, step: int, batches: int, history: History, *, last: bool) -> None:
        """Guarda si toca. Escribe el proceso 0."""
        if not self.is_due(step, last=last):
            return
        random_states = self.world.gather(random_state(self.device))
        if self.world.rank == 0:
            state = self.model.state_dict(), self.optimizer.state_dict(), asdict(history)
            checkpoint = Checkpoint(step, batches, *state, random_states, self.settings)
            save_checkpoint(self.path, checkpoint)
        if last:
            self.world.wait()

    def _require_everyone(self, found: bool) -> None:
        if len(set(self.world.gather(found))) > 1:
            raise ValueError(
                f"Unos procesos ven el punto de control {self.path} y otros no: ponlo en un disco "
                "que todos compartan."
            )


def _require_same_model(saved: dict[str, Tensor], current: dict[str, Tensor]) -> None:
    for name in [*saved, *current]:
        kept, own = (_describe(tensors.get(name)) for tensors in (saved, current))
        if kept != own:
            raise ValueError(
                f"El punto de control es de otro modelo: «{name}» es {kept} en el archivo y "
                f"{own} en este modelo. Crea el modelo con la misma configuración."
            )


def _describe(tensor: Tensor | None) -> str:
    if tensor is None:
        return "nada (no existe)"
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _require_intact(file: BinaryIO, path: Path) -> None:
    """Comprueba las sumas CRC de todas las piezas: torch no las mira al leer."""
    try:
        with zipfile.ZipFile(file) as archive:
            broken = archive.testzip()
    except Exception as error:
        raise ValueError(_DAMAGED.format(path)) from error
    if broken:
        raise ValueError(_DAMAGED.format(path))
    file.seek(0)


def _safe_load(file: BinaryIO, path: Path) -> Any:
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(
            f"{path} no es un punto de control de este curso, o está dañado: no se pudo leer sin "
            "ejecutar código ajeno."
        ) from error


def _sync_folder(folder: Path) -> None:
    """Lleva al disco el cambio de nombre; donde las carpetas no se pueden abrir, no hace falta."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


_DAMAGED = (
    "El punto de control {} está truncado o dañado: bórralo, o recupera una copia, o usa "
    "resume=False para empezar de nuevo."
)
