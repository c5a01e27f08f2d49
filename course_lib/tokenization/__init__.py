"""De texto a números y de vuelta: codificación por pares de bytes (BPE) y WordPiece."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".byte_bpe": ("ByteBPE",),
        ".word_piece": ("WordPiece",),
        ".words": ("WordVocabulary", "split_words"),
    },
)
