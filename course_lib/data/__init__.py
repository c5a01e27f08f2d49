"""Los datos del curso: recetas y opiniones de una gramática escrita, y lo que se hace con ellas."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".algorithmic": (
            "addition",
            "carries",
            "column_sums",
            "copy",
            "follow",
            "reverse",
            "treasure_hunt",
        ),
        ".masking": ("Masked", "Masking", "NextSentence", "join_pair", "next_sentence_pairs"),
        ".messages": ("Message", "installed_messages", "read_messages", "split_messages"),
        ".opinions": ("Opinion", "generate_opinions", "iter_opinions"),
        ".recipes": (
            "Recipe",
            "generate_recipes",
            "iter_recipes",
            "split_recipes",
            "translation_pairs",
        ),
        ".reviews": ("Review", "load_reviews", "write_reviews"),
        ".segments": ("TokenStream", "segments"),
        ".stories": (
            "Question",
            "StoryLine",
            "generate_stories",
            "questions",
            "read_stories",
            "task_path",
            "write_stories",
        ),
        ".tasks": (
            "choice_examples",
            "pair_examples",
            "question_examples",
            "sentence_examples",
            "tagged_examples",
        ),
    },
)
