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
        ".blocks": ("Decoder", "DecoderBlock", "Encoder", "EncoderBlock"),
        ".depth_recurrence": ("UniversalDecoder", "UniversalEncoder"),
        ".dot_product_attention": ("DotProductAttention", "KeyValueCache"),
        ".embeddings": ("InputEmbedding",),
        ".encoder_decoder": ("DecoderState", "EncoderDecoder", "EncoderDecoderConfig"),
        ".feed_forward": ("Dense", "FeedForward", "SwiGLU"),
        ".mixture_of_experts": ("MixtureOfExperts", "Routing", "load_balancing_loss"),
        ".multi_head_attention": ("MultiHeadAttention",),
        ".multi_query_attention": ("MultiQueryAttention",),
        ".normalization": ("RMSNorm", "Residual"),
        ".parallel_block": ("ParallelBlock", "SerialBlock"),
        ".relative_attention": ("RelativeAttention",),
        ".segment_memory": ("Memory", "MemoryBlock", "remember"),
    },
)
