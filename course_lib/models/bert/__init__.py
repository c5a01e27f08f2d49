"""BERT: el modelo y su preentrenamiento, y una cabeza por tarea para el ajuste fino."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".fine_tuning": (
            "BertForMultipleChoice",
            "BertForQuestionAnswering",
            "BertForSequenceClassification",
            "BertForTokenClassification",
            "SpanOutput",
            "best_spans",
        ),
        ".model": (
            "Bert",
            "BertConfig",
            "BertEmbedding",
            "BertForPreTraining",
            "BertOutput",
            "PreTrainingOutput",
        ),
    },
)
