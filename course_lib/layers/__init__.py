"""Módulos con parámetros, un concepto en cada archivo."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".adaptive_computation": (
            "AdaptiveComputation",
            "AdaptiveOutput",
            "Deliberation",
            "FixedComputation",
        ),
        ".adaptive_softmax": ("AdaptiveEmbedding", "AdaptiveSoftmax"),
        ".blocks": ("DecoderBlock", "EncoderBlock", "FeedForward"),
        ".embeddings": ("InputEmbedding",),
        ".encoder_decoder": (
            "Decoder",
            "DecoderState",
            "Encoder",
            "EncoderDecoder",
            "EncoderDecoderConfig",
        ),
        ".mixture_of_experts": ("MixtureOfExperts", "Routing", "load_balancing_loss"),
        ".multi_head_attention": ("DotProductAttention", "KeyValueCache", "MultiHeadAttention"),
        ".multi_query_attention": ("MultiQueryAttention",),
        ".normalization": ("RMSNorm", "Residual"),
        ".relative_attention": ("RelativeAttention",),
        ".swiglu": ("Dense", "SwiGLU"),
    },
)
