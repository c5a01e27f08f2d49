"""Cada modelo, en un archivo: su configuración y lo que se arma con ella."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".bert": (
            "Bert",
            "BertConfig",
            "BertEmbedding",
            "BertForMultipleChoice",
            "BertForPreTraining",
            "BertForQuestionAnswering",
            "BertForSequenceClassification",
            "BertForTokenClassification",
            "BertOutput",
            "PreTrainingOutput",
            "SpanOutput",
            "best_spans",
        ),
        ".palm": ("PaLM", "PaLMCache", "PaLMConfig"),
        ".seq2seq": ("Seq2Seq", "Seq2SeqConfig"),
        ".sequence_tagger": ("PositionedEncoder", "SequenceTagger", "Tagging"),
        ".text_classifier": (
            "TextClassifier",
            "TextClassifierConfig",
            "binary_cross_entropy",
            "classification_loss",
        ),
        ".transformer": ("Transformer", "TransformerConfig"),
        ".transformer_xl": ("TransformerXL", "TransformerXLConfig"),
        ".universal_transformer": (
            "UniversalOutput",
            "UniversalTransformer",
            "UniversalTransformerConfig",
        ),
    },
)
