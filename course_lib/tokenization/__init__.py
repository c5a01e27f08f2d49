"""De texto a números y de vuelta: codificación por pares de bytes (BPE) y WordPiece."""

from course_lib.tokenization.byte_bpe import ByteBPE
from course_lib.tokenization.word_piece import WordPiece

__all__ = ["ByteBPE", "WordPiece"]
