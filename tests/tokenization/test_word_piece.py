import string
import unicodedata
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import log, prod

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer, decoders

from course_lib.data.recipes import generate_recipes
from course_lib.tokenization import WordPiece
from course_lib.tokenization._pieces import _Corpus, alphabet, learn_pieces

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = string.ascii_lowercase + string.digits + "áéíóúñüABCÁÑσς中ß"
WHOLE = ["la", "gallina", "gall", "receta", "sopa", "lenteja", "sal", "mask", "un", "ab", "abc"]
INNER = ["##ina", "##s", "##ta", "##ja", "##bc", "##cd", "##sk"]
VOCABULARY = [
    *SPECIAL,
    *string.punctuation,
    "¿¡«»",
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS if letter != "z"),
    *WHOLE,
    *INNER,
]


def _stable(c):
    """Los que no cambiaron de clase entre versiones de Unicode: cada biblioteca trae la suya."""
    return unicodedata.category(c) == unicodedata.ucd_3_2_0.category(c) not in ("Cn", "Cs")


any_text = st.text(st.characters(exclude_categories=("Cs", "Cn")).filter(_stable), max_size=40)
from_vocabulary = st.lists(
    st.sampled_from([*VOCABULARY, " ", "\t", "\u2028", "\x85", "\x00", "\ufffd", "́", "İ", "Σ"])
).map("".join)
options = st.fixed_dictionaries(
    {"lowercase": st.booleans(), "strip_accents": st.sampled_from([None, True, False])}
)


@pytest.fixture(scope="module")
def vocab_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulario") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tokenizer(vocab_file):
    return WordPiece(vocab_file)


# --- lo mismo que una implementación independiente -----------------------------------------------


@settings(max_examples=400)
@given(st.one_of(any_text, from_vocabulary, any_text.map(lambda t: f"a{t}b")), options)
@example("Las gallinas, ¡la receta! 中国 [MASK] mask", {"lowercase": True, "strip_accents": None})
@example("ÁRBOL Ñandú ΣΑΣ ﬁ İß", {"lowercase": True, "strip_accents": False})
@example("a" * 100 + " " + "a" * 101, {"lowercase": False, "strip_accents": None})
def test_any_text_gives_the_tokens_of_tokenizers(vocab_file, text, options):
    peer = BertWordPieceTokenizer(str(vocab_file), **options)
    ours = WordPiece(vocab_file, **options)
    expected = peer.encode(text, add_special_tokens=False)
    assert ours.tokens(text, special=True) == expected.tokens
    assert ours.encode(text, special=True) == expected.ids


def test_recipes_give_the_tokens_of_tokenizers(vocab_file, tokenizer):
    peer = BertWordPieceTokenizer(str(vocab_file))
    for recipe in generate_recipes(100):
        for text in (recipe.text, recipe.text_en):
            assert tokenizer.encode(text) == peer.encode(text, add_special_tokens=False).ids


@given(from_vocabulary, from_vocabulary)
def test_pairs_are_framed_as_in_bert(vocab_file, tokenizer, first, second):
    peer = BertWordPieceTokenizer(str(vocab_file))
    # Sin nombres de tokens especiales en el texto: aquí no se le pide reconocerlos.
    first, second = (text.replace("[", " ").replace("]", " ") for text in (first, second))
    expected = peer.encode(first, second)
    assert tokenizer.encode_pair(first, second) == (expected.ids, expected.type_ids)
    alone = peer.encode(first)
    assert tokenizer.encode_pair(first) == (alone.ids, alone.type_ids)


@given(st.lists(st.integers(0, len(VOCABULARY) - 1)))
def test_decoding_joins_as_tokenizers_does(vocab_file, tokenizer, ids):
    decoder = decoders.WordPiece(cleanup=False)
    expected = decoder.decode([VOCABULARY[i] for i in ids])
    assert tokenizer.decode(ids, skip_special=False) == expected


# --- cada regla, a mano --------------------------------------------------------------------------


def test_the_longest_piece_goes_first(tokenizer):
    assert tokenizer.tokens("gallinas") == ["gallina", "##s"]
    assert tokenizer.tokens("galla") == ["gall", "##a"]
    assert tokenizer.tokens("abcd") == ["abc", "##d"]  # y no ab + ##cd
    assert tokenizer.tokens("recetaz") == ["[UNK]"], "sin ##z, la palabra entera es desconocida"


def test_case_and_accents(vocab_file):
    text = "Ñandú"
    assert WordPiece(vocab_file).tokens(text)[0] == "n"
    assert WordPiece(vocab_file, strip_accents=False).tokens(text)[0] == "ñ"
    assert WordPiece(vocab_file, lowercase=False).tokens("Ñ a") == ["Ñ", "a"]


def test_special_names_in_text_are_text_unless_asked(tokenizer):
    assert tokenizer.tokens("[MASK]") == ["[", "mask", "]"]
    assert tokenizer.tokens("[MASK]la", special=True) == ["[MASK]", "la"]
    ids, segments = tokenizer.encode_pair("la receta", "sal")
    assert tokenizer.decode(ids) == "la receta sal" and segments == [0, 0, 0, 0, 1, 1]
    assert tokenizer.decode(ids, skip_special=False) == "[CLS] la receta [SEP] sal [SEP]"


def test_a_line_is_a_number_even_with_strange_lines(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes("[PAD]\r\n\r\n[UNK]\na\u2028b\nsal".encode())
    tokenizer = WordPiece(path)
    assert tokenizer.vocabulary == ("[PAD]", "", "[UNK]", "a\u2028b", "sal")
    assert tokenizer.encode("sal a") == [4, 2]
    assert tokenizer.vocab_size == 5


# --- aprender el vocabulario ---------------------------------------------------------------------

few_words = st.dictionaries(
    st.text("abc", min_size=1, max_size=6), st.integers(1, 9), min_size=1, max_size=6
)


def _likelihood(words):
    """P del texto, exacta: Π c(x)^c(x) / N^N, con lo partido como está."""
    counts = Counter()
    for pieces, weight in words:
        counts.update({piece: weight * pieces.count(piece) for piece in set(pieces)})
    total = counts.total()
    return Fraction(prod(c**c for c in counts.values()), total**total)


def _joined(pieces, pair):
    """Une el par de izquierda a derecha, con una pila."""
    result = []
    for piece in pieces:
        if result and (result[-1], piece) == pair and result[-1] is not None:
            result[-1:] = [None, pair[0] + pair[1].replace("##", "")]
        else:
            result.append(piece)
    return [piece for piece in result if piece is not None]


def _naive(words, limit):
    """Prueba cada unión en todo el texto y elige la mejor, con quebrados exactos."""
    split = [([w[0], *("##" + c for c in w[1:])], n) for w, n in words.items()]
    learned = []
    while len(set(learned)) < limit:
        pairs = {pair for pieces, _ in split for pair in pairwise(pieces)}
        options = {pair: [(_joined(pieces, pair), n) for pieces, n in split] for pair in pairs}
        scores = {pair: _likelihood(option) for pair, option in options.items()}
        best = max(scores.values(), default=0)
        if best <= _likelihood(split):
            break
        pair = min(pair for pair in pairs if scores[pair] == best)
        split = options[pair]
        learned.append(pair[0] + pair[1].replace("##", ""))
    return list(dict.fromkeys(learned))


@settings(max_examples=150)
@given(few_words)
@example({"aaaaaa": 3, "aaa": 2, "a": 1})
@example({"abab": 1, "ab": 5, "bab": 2})
@example({"ba": 1, "aaabb": 30, "aba": 30})  # se detiene con pares por unir: ninguno ayuda
def test_each_piece_is_the_one_that_raises_the_likelihood_most(words):
    for limit in (1, 5):
        assert learn_pieces(words, limit) == _naive(words, limit), "otra regla, u otro desempate"


def test_the_gain_is_not_the_bare_ratio():
    # «x##y» solo va junto (cociente 1), pero una vez; «a##b» casi siempre, y cien.
    words = {"xy": 1, "ab": 100, "ac": 3, "cb": 3}
    assert learn_pieces(words, 1) == ["ab"]
    counts = Counter({"x": 1, "##y": 1, "a": 103, "##b": 103, "##c": 3, "c": 3})
    ratio = {"xy": 1 / (counts["x"] * counts["##y"]), "ab": 100 / (counts["a"] * counts["##b"])}
    assert ratio["xy"] > ratio["ab"], "el cociente solo elegiría el par raro"


def _log_likelihood(corpus):
    return log(_likelihood(list(zip(corpus.words, corpus.weights, strict=True))))


@given(few_words, st.randoms())
def test_the_gain_of_any_pair_is_the_change_in_log_likelihood(words, random):
    corpus = _Corpus(words)
    while corpus.pairs:
        # Un par cualquiera, no el mejor: así un mismo trozo nace a menudo de dos pares.
        pair = random.choice(sorted(corpus.pairs))
        corpus.pairs, every = {pair: corpus.pairs[pair]}, corpus.pairs
        before, (gain, _) = _log_likelihood(corpus), corpus.best()
        corpus.pairs = every
        corpus.merge(pair)
        assert gain == pytest.approx(_log_likelihood(corpus) - before, abs=1e-5)


def test_training_orders_the_vocabulary_and_keeps_accents():
    texts = ["El puré de papás.", "La sal, el puré."]
    trained = WordPiece.train(texts, 60)
    assert list(trained.vocabulary[:5]) == SPECIAL, "[PAD] tiene que ser el 0"
    starts = sorted({*"elpurédpaáls.,"})
    assert list(trained.vocabulary[5 : 5 + len(starts)]) == starts
    assert trained.tokens("puré")[-1].endswith("é"), "sin tildes, «papa» y «papá» son la misma"
    plain = WordPiece.train(texts, 60, strip_accents=True)
    assert not any("é" in token or "á" in token for token in plain.vocabulary)
    cased = WordPiece.train(texts, 60, lowercase=False)
    assert "E" in cased.vocabulary and "E" not in trained.vocabulary


def test_known_letters_make_no_unknown_words():
    trained = WordPiece.train(["ajo sal"], 40)
    assert "[UNK]" not in trained.tokens("lasaja oj"), "cada letra, también dentro de la palabra"
    long = WordPiece.train(["sal", "z" * 101], 40)
    assert "z" not in long.vocabulary, "una palabra de más de 100 letras será [UNK]: no enseña nada"
    assert trained.tokens("ñ") == ["[UNK]"]
    assert alphabet({"a": 1, ".": 2}) == [".", "a"], "los signos no continúan palabra"


@given(few_words, st.randoms())
def test_order_of_texts_does_not_matter(words, random):
    texts = [word for word, n in words.items() for _ in range(n)]
    shuffled = random.sample(texts, len(texts))
    assert WordPiece.train(texts, 20).vocabulary == WordPiece.train(shuffled, 20).vocabulary


def test_recipes_train_a_vocabulary_that_tokenizers_reads_alike(tmp_path):
    texts = [recipe.text for recipe in generate_recipes(15)]
    trained = WordPiece.train(texts, 250)
    assert trained.vocab_size == len(set(trained.vocabulary)) == 250
    trained.save(tmp_path / "new" / "vocab.txt")
    again = WordPiece(tmp_path / "new" / "vocab.txt", strip_accents=False)
    peer = BertWordPieceTokenizer(str(tmp_path / "new" / "vocab.txt"), strip_accents=False)
    for recipe in generate_recipes(5, seed=5):
        ids = trained.encode(recipe.text)
        assert ids == again.encode(recipe.text)
        assert ids == peer.encode(recipe.text, add_special_tokens=False).ids


def test_it_stops_when_nothing_improves():
    assert WordPiece.train(["a b c"], 100).vocab_size == 5 + 3
    assert learn_pieces({"ab": 1}, 10) == ["ab"]


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    "texts, vocab_size, message",
    [
        ("una sopa", 50, "se esperaban varios textos y llegó uno"),
        ([b"sopa"], 50, "se esperaban textos y llegó bytes"),
        (["", "  "], 50, "no hay ninguna"),
        (["sopa"], 12, r"llegó 12 y hacen falta al menos 13: 5 tokens especiales y 8 caracteres"),
        (["sopa"], 50.0, "se esperaba un número entero y llegó 50.0"),
    ],
)
def test_training_errors_say_what_was_expected(texts, vocab_size, message):
    with pytest.raises(ValueError, match=message):
        WordPiece.train(texts, vocab_size)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    "vocabulary, message",
    [
        (["la"], r"falta «\[UNK\]»"),
        (["[UNK]", "la", "la"], "«la» está repetido"),
        (["[UNK]", "la "], "sin espacios al final"),
        (["[UNK]", "l\na"], "sin espacios al final"),
        (["[UNK]", 3], "llegó 3"),
    ],
)
def test_a_bad_list_is_refused(vocabulary, message):
    with pytest.raises(ValueError, match=message):
        WordPiece(vocabulary)


# --- errores -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "falta el token «[UNK]»"),
        (b"la\nel\n", "entre sus 2 líneas falta el token «[UNK]»"),
        (b"[UNK]\n\xff\xfe", "se esperaba texto UTF-8"),
    ],
)
def test_a_bad_vocabulary_is_refused(content, message, tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError) as caught:
        WordPiece(path)
    assert message in str(caught.value) and "vocab.txt" in str(caught.value)


@pytest.mark.usefixtures("as_user")
def test_errors_say_what_was_expected(tokenizer, tmp_path):
    with pytest.raises(FileNotFoundError):
        WordPiece(tmp_path / "no.txt")
    with pytest.raises(ValueError, match=r"Se esperaba un texto \(str\) y llegó bytes"):
        tokenizer.encode(b"sal")
    with pytest.raises(ValueError, match="El token 9999 no existe: el vocabulario va de 0 a"):
        tokenizer.decode([9999])
    with pytest.raises(ValueError, match="El token -1 no existe"):
        tokenizer.token(-1)
    path = tmp_path / "vocab.txt"
    path.write_text("[UNK]\nsal\n")
    with pytest.raises(ValueError, match=r"no tiene el token especial «\[CLS\]»; tiene: \[UNK\]"):
        WordPiece(path).encode_pair("sal")
