"""Funciones puras de tensores, sin parámetros que entrenar."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".additive": ("additive_scores", "combine_projected", "luong_scores"),
        ".attention": (
            "attention",
            "attention_scores",
            "attention_weights",
            "causal_mask",
            "hard_argmax",
            "padding_mask",
            "soft_argmax",
        ),
        ".key_value_store": ("KeyValueStore", "Match", "hard_lookup", "soft_lookup", "top_k"),
        ".pooling": ("max_pool", "mean_pool"),
        ".positions.rotations": ("rotary", "rotary_order", "rotary_table", "rotate"),
        ".positions.sinusoids": ("sinusoidal_positions", "step_positions"),
        ".relative_shift": ("relative_shift",),
        ".text_embedding": ("embed_text",),
    },
)
