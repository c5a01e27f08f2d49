"""Cada modelo, en un archivo: su configuración y lo que se arma con ella."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".bert.fine_tuning": (
            "BertForMultipleChoice",
            "BertForQuestionAnswering",
            "BertForSequenceClassification",
            "BertForTokenClassification",
            "SpanOutput",
            "best_spans",
        ),
        ".bert.model": (
            "Bert",
            "BertConfig",
            "BertEmbedding",
            "BertForPreTraining",
            "BertOutput",
            "PreTrainingOutput",
        ),
        ".palm": ("PaLM", "PaLMCache", "PaLMConfig", "ParallelBlock", "SerialBlock"),
        ".seq2seq": ("Seq2Seq", "Seq2SeqConfig"),
        ".sequence_tagger": ("PositionedEncoder", "SequenceTagger", "Tagging"),
        ".text_classifier": (
            "TextClassifier",
            "TextClassifierConfig",
            "binary_cross_entropy",
            "classification_loss",
        ),
        ".transformer": ("Transformer", "TransformerConfig"),
        ".transformer_xl": (
            "Memory",
            "MemoryBlock",
            "TransformerXL",
            "TransformerXLConfig",
            "remember",
        ),
        ".universal_transformer": (
            "UniversalDecoder",
            "UniversalEncoder",
            "UniversalOutput",
            "UniversalTransformer",
            "UniversalTransformerConfig",
        ),
    },
)
