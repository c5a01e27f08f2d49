import string
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer, decoders

from course_lib.data.recipes import generate_recipes
from course_lib.tokenization import WordPiece

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
