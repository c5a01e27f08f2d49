"""Qué se minimiza: entropía cruzada con suavizado de etiquetas y forzado del profesor."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor


def cross_entropy(
    logits: Float[Tensor, "*batch vocab"],
    targets: Int[Tensor, "*batch"],
    *,
    label_smoothing: float = 0.0,
    ignore_id: int | None = None,
) -> Float[Tensor, ""]:
    """Entropía cruzada media entre los logits y los tokens correctos, con etiquetas suavizadas.

        L = (1/n) Σ_i −Σ_k q_ik log p_ik,   p_i = softmax(z_i),   q_ik = (1 − ε)[k = y_i] + ε/vocab

    Como los q_ik de una fila suman 1, la fila vale log Σ_k e^{z_ik} − (1 − ε) z_{i y_i} − ε z̄_i,
    con z̄_i la media de sus logits: no hacen falta ni q ni log p, que ocupan tanto como z.

    Argumentos:
        logits: z, puntuaciones sin normalizar. Los de 16 bits se suman en float32.
        targets: y, el token correcto de cada fila.
        label_smoothing: ε, la fracción de probabilidad que se reparte entre todo el vocabulario.
        ignore_id: las filas con este token no cuentan (suele ser el relleno).

    Devuelve:
        Un escalar: la media sobre los n tokens que cuentan.

    Errores:
        ValueError: si las formas no casan, ε no está en [0, 1), un token no cabe en el
        vocabulario o no queda ninguno que cuente.

    Fuente: Szegedy et al. (2016), §7; Vaswani et al. (2017), §5.4; ecuaciones `eq-cross-entropy` y
    `eq-label-smoothing` del capítulo `training`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import cross_entropy
        >>> logits = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]).log()
        >>> cross_entropy(logits, torch.tensor([0, 0]))  # media de log 2 y log 4
        tensor(1.0397)
        >>> cross_entropy(logits, torch.tensor([0, 9]), ignore_id=9)  # el relleno no cuenta
        tensor(0.6931)
    """
    _require_shapes(logits, targets, label_smoothing)
    vocab = logits.shape[-1]
    z, y = logits.reshape(-1, vocab), targets.reshape(-1)
    counted = torch.ones_like(y, dtype=torch.bool) if ignore_id is None else y != ignore_id
    count = _require_targets(y, counted, vocab)
    y = y.masked_fill(~counted, 0)
    return _CrossEntropy.apply(z, y, counted, count, label_smoothing)


class _CrossEntropy(torch.autograd.Function):
    """El gradiente respecto de z_i es (p_i − q_i)/n: se escribe en una sola matriz como z."""

    @staticmethod
    def forward(ctx, z, y, counted, count, smoothing):
        scores = z.float() if z.dtype.itemsize < 4 else z
        log_sum = scores.logsumexp(-1)
        row = log_sum - (1 - smoothing) * scores.gather(-1, y[:, None]).squeeze(-1)
        if smoothing:
            row -= smoothing * scores.mean(-1)
        ctx.save_for_backward(z, y, counted, log_sum)
        ctx.count, ctx.smoothing = count, smoothing
        return row.masked_fill_(~counted, 0).sum() / count

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, upstream):
        z, y, counted, log_sum = ctx.saved_tensors
        gradient = (z - log_sum[:, None]).exp_()
        if ctx.smoothing:
            gradient -= ctx.smoothing / z.shape[-1]
        correct = gradient.new_full((len(y), 1), ctx.smoothing - 1)
        gradient.scatter_add_(-1, y[:, None], correct)
        gradient *= (counted * (upstream / ctx.count))[:, None]
        return gradient.to(z.dtype), None, None, None, None


def shift_right(
    target: Int[Tensor, "batch t"],
) -> tuple[Int[Tensor, "batch t_input"], Int[Tensor, "batch t_input"]]:
    """Forzado del profesor: separa lo que lee el decodificador de lo que debe responder.

        [<s>, y_1, …, y_n, </s>]  →  entrada [<s>, y_1, …, y_n],  respuesta [y_1, …, y_n, </s>]

    Argumentos:
        target: oraciones completas, de comienzo a fin, con relleno detrás.

    Devuelve:
        El par (entrada, respuesta), los dos con una posición menos que `target`.

    Errores:
        ValueError: si las oraciones tienen menos de dos tokens.

    Fuente: Williams y Zipser (1989); figura `fig-teacher-forcing` del capítulo `training`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import shift_right
        >>> inputs, expected = shift_right(torch.tensor([[1, 8, 9, 2]]))  # 1: comienzo; 2: fin
        >>> inputs.tolist(), expected.tolist()
        ([[1, 8, 9]], [[8, 9, 2]])
    """
    if target.shape[-1] < 2:
        raise ValueError(
            "Se esperaban oraciones con comienzo y fin, de al menos dos tokens, y llegó la forma "
            f"{tuple(target.shape)}."
        )
    return target[..., :-1], target[..., 1:]


@dataclass(frozen=True)
class TranslationLoss:
    """La pérdida de un traductor, `loss(model, batch)`, para lotes (origen, destino).

    Argumentos:
        label_smoothing: ε del suavizado de etiquetas.
        pad_id: el relleno, que no cuenta.

    Fuente: Vaswani et al. (2017), §5.4; capítulo `training`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import TranslationLoss
        >>> def model(source, target):  # no sabe nada: diez palabras, igual de probables
        ...     return torch.zeros(*target.shape, 10)
        >>> batch = torch.tensor([[5, 6, 2]]), torch.tensor([[1, 8, 9, 2, 0]])
        >>> loss = TranslationLoss()
        >>> loss(model, batch), loss.count(batch)  # log 10, en los tres tokens reales
        (tensor(2.3026), 3)
    """

    label_smoothing: float = 0.0
    pad_id: int = 0

    def __call__(self, model: Any, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Devuelve la entropía cruzada media por token real del destino."""
        source, target = batch
        inputs, expected = shift_right(target)
        return cross_entropy(
            model(source, inputs),
            expected,
            label_smoothing=self.label_smoothing,
            ignore_id=self.pad_id,
        )

    def count(self, batch: tuple[Tensor, Tensor]) -> int:
        """Cuántos tokens promedia la pérdida en este lote; `train` pondera con ello cada lote."""
        return int((batch[1][:, 1:] != self.pad_id).sum())


def _require_shapes(logits, targets, label_smoothing):
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"Se esperaba un token correcto por fila de logits y llegaron {tuple(logits.shape)} "
            f"logits y {tuple(targets.shape)} tokens: la última dimensión de los logits es el "
            "vocabulario y las demás deben coincidir."
        )
    if targets.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"targets: se esperaban tokens (torch.long) y llegó el tipo {targets.dtype}: son los "
            "números de los tokens correctos, no sus probabilidades."
        )
    if not 0 <= label_smoothing < 1:
        raise ValueError(
            f"label_smoothing: se esperaba un número entre 0 y 1 y llegó {label_smoothing}; "
            "lo habitual es 0.1."
        )


def _require_targets(y: Tensor, counted: Tensor, vocab: int) -> int | Tensor:
    """Cuenta los tokens que cuentan; los otros pueden ser cualquier número, como −100.

    Fuera de la CPU no se mira cuáles son: leerlos detendría la cola de la GPU en cada paso.
    """
    if not y.is_cpu:
        return counted.sum()
    outside = counted & ((y < 0) | (y >= vocab))
    count, wrong = torch.stack((counted.sum(), outside.sum())).tolist()
    if wrong:
        raise ValueError(
            f"Se esperaban tokens entre 0 y {vocab - 1} y llegó {y[outside][0].item()}: ¿son de "
            "otro vocabulario? Si marca el relleno, pásalo como ignore_id."
        )
    if not count:
        raise ValueError(
            "No hay ningún token que cuente: todos son relleno. Quita del lote las secuencias "
            "vacías y revisa ignore_id."
        )
    return count
