"""Entrenar: la puerta (`train`), las pérdidas, los lotes, los planes y los puntos de control."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".batches": ("TokenBatches", "endless", "pad"),
        ".checkpoints": ("Checkpoint", "load_checkpoint", "save_checkpoint"),
        ".history": ("History",),
        ".language_modelling": (
            "context_losses",
            "effective_context",
            "perplexity",
            "segment_losses",
            "sliding_losses",
        ),
        ".loop": ("train",),
        ".losses": ("TranslationLoss", "cross_entropy", "shift_right"),
        ".pretraining": (
            "ChoiceLoss",
            "ClassificationLoss",
            "MaskedBatches",
            "PreTrainingLoss",
            "SpanLoss",
            "TaggingLoss",
            "stack_choices",
        ),
        ".schedules": ("inverse_sqrt", "warmup_cosine"),
    },
)
