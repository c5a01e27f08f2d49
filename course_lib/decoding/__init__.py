"""Decodificación: de las probabilidades de un modelo a una secuencia de tokens.

Un modelo se da por su paso, `step(token_ids, state) -> (logits, state)`: lee los tokens nuevos y
predice el siguiente a cada uno. El estado entra y sale; es None, un tensor con el lote delante, un
objeto con `.select(filas)` o una tupla, lista o diccionario de ellos. Sirve igual el `step` de un
Transformer, el `forward` de un modelo de lenguaje con memoria, o `without_cache(forward)`.

Antes de decodificar, pon el modelo en `.eval()`: el dropout también cambiaría las respuestas.
"""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".beam": ("BeamStep", "Hypothesis", "beam", "beam_steps", "length_normalizer"),
        ".generation": ("Generation",),
        ".greedy": ("greedy",),
        ".prompts": ("left_pad",),
        ".sampling": ("keep_top_k", "keep_top_p", "sample", "sampling_distribution"),
        ".state": ("select", "without_cache"),
        ".stream": ("stream",),
    },
)
