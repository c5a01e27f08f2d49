import pytest

from course_lib.tokenization.words import WordVocabulary, split_words

TEXTS = ["La sopa, la SOPA.", "No está mal: está bien."]


def test_words_and_marks_are_separated_in_lowercase():
    assert split_words("¡Qué rica, la Sopa!") == ["¡", "qué", "rica", ",", "la", "sopa", "!"]


def test_the_most_frequent_words_come_first_and_ties_in_order():
    words = WordVocabulary.build(TEXTS)
    assert words.words[:7] == ("<pad>", "<unk>", ".", "está", "la", "sopa", ",")
    assert WordVocabulary.build(reversed(TEXTS)).words == words.words


def test_it_counts_its_two_special_tokens_and_respects_the_limit():
    words = WordVocabulary.build(TEXTS, max_words=3)
    assert words.vocab_size == len(words.words) == 5
    assert words.encode("Está la sopa") == [3, 4, 1]
    assert words.decode([3, 4, 1, 0]) == ["está", "la", "<unk>", "<pad>"]
    # «<unk>» escrito en un texto son tres tokens, no el identificador especial.
    assert words.encode("<unk>") == [1, 1, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WordVocabulary.build("una"), "llegó uno: pásalo en una lista"),
        (lambda: WordVocabulary.build(["una"], max_words=0), "entero positivo y llegó 0"),
        (lambda: WordVocabulary(["a", "b", "a"]), "«a» está repetida"),
        (lambda: WordVocabulary(["a"]).decode([3]), "La palabra 3 no existe: .* de 0 a 2"),
        (lambda: WordVocabulary(["a"]).decode([-1]), "La palabra -1 no existe"),
    ],
)
def test_errors_are_in_spanish(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_saved_vocabulary_is_the_same(tmp_path):
    words = WordVocabulary.build(["Está la sopa.", "¿Qué\u00a0sopa? «Ñ» 🙂"])
    words.save(tmp_path / "words.json")
    assert WordVocabulary.load(tmp_path / "words.json").words == words.words


@pytest.mark.parametrize(
    "text", ["", "[", '{"a": 1}', '["<pad>", "sopa"]', '["<pad>", "<unk>", 3]']
)
def test_what_is_not_a_vocabulary_is_refused(tmp_path, text):
    (tmp_path / "words.json").write_text(text)
    with pytest.raises(ValueError, match=r"words\.json: (no es el JSON|se esperaba una lista)"):
        WordVocabulary.load(tmp_path / "words.json")
