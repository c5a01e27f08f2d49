import json
import os
import pickle
import re
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from course_lib.data.recipes import generate_recipes
from course_lib.tokenization import ByteBPE
from course_lib.tokenization._merges import apply_merges, learn_merges
from course_lib.tokenization.byte_bpe import ALPHABET, GPT2_PATTERN

SPECIAL = ("<pad>", "<s>", "</s>")


@pytest.fixture(scope="module")
def book():
    """El texto del libro: prosa, fórmulas y código; unas diez mil palabras distintas."""
    pages = sorted((Path(__file__).parents[2] / "book").glob("*.md"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    return re.sub("|".join(SPECIAL), "", text)


@pytest.fixture(scope="module")
def recipes():
    return [text for r in generate_recipes(400) for text in (r.text, r.text_en)]


# Los que no cambiaron de clase entre versiones de Unicode: cada biblioteca trae la suya.
def _stable(c):
    return unicodedata.category(c) == unicodedata.ucd_3_2_0.category(c) not in ("Cn", "Cs")


any_text = st.text(st.characters(exclude_categories=("Cs", "Cn")).filter(_stable), max_size=60)
few_letters = st.text("aab b'", max_size=60)
runs = st.lists(st.tuples(st.sampled_from("ab á\n"), st.integers(1, 12))).map(
    lambda parts: "".join(letter * times for letter, times in parts)
)
adversarial = st.lists(st.one_of(few_letters, runs, any_text), max_size=5)


def hugging_face(texts, vocab_size, special=SPECIAL):
    """El tokenizador de `tokenizers`, con la misma partición y el mismo alfabeto inicial."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def written(token):
    return "".join(ALPHABET[byte] for byte in token)


def names_of(ours):
    return [written(ours.token_bytes(i)) for i in range(ours.vocab_size)]


def merges_of(ours):
    names = names_of(ours)
    return [(names[a], names[b]) for a, b in ours.merges]


def merges_of_peer(peer):
    merges = json.loads(peer.to_str())["model"]["merges"]
    return [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in merges]


def assert_same(texts, vocab_size, others=()):
    ours, peer = ByteBPE.train(texts, vocab_size), hugging_face(texts, vocab_size)
    assert merges_of(ours) == merges_of_peer(peer)
    assert ours.vocab_size == peer.get_vocab_size()
    names = names_of(ours)
    for text in [*texts, *others]:
        tokens = [names[i] for i in ours.encode(text)]
        assert tokens == peer.encode(text).tokens
        assert ours.decode(ours.encode(text)) == text


# --- lo mismo que una implementación independiente -----------------------------------------------


def test_the_book_gives_the_merges_of_tokenizers(book):
    assert len(book) > 500_000
    assert_same([book], 8000, [book[:100_000].upper()])


def test_recipes_in_two_languages_give_the_merges_of_tokenizers(recipes):
    assert_same(recipes, 3000, ["Texto que no es una receta: ¿quién lo diría? 日本語 🍲"])


@settings(max_examples=300)
@given(adversarial, st.integers(259, 330), any_text)
@example(["aaaaaa"], 300, "aaaaaaa")
@example(["aaaa aaa aaaaaaa", "aabaab aabaa"], 300, "aabaabaaa")
@example(["ab ba", "abab baba bb aa"], 270, "abba")  # empates: decide el número del token
@example(["! ! ~ ~ \x80 Āá"], 300, "~!")  # entre bytes, primero los visibles
def test_any_text_gives_the_merges_of_tokenizers(texts, vocab_size, other):
    assert_same(texts, vocab_size, [other])


def test_the_alphabet_is_that_of_gpt2():
    assert sorted(ALPHABET) == list(range(256))
    assert set(ALPHABET.values()) == set(pre_tokenizers.ByteLevel.alphabet())
    assert ALPHABET[ord(" ")] == "Ġ" and ALPHABET[ord("\n")] == "Ċ" and ALPHABET[ord("a")] == "a"


# --- el algoritmo, a mano ------------------------------------------------------------------------


def test_before_any_merge_tokens_are_bytes():
    assert ByteBPE([]).encode("hello") == [104, 101, 108, 108, 111]
    assert ByteBPE([]).vocab_size == 256 + 3


def test_any_two_bytes_can_be_merged():
    bpe = ByteBPE([(0, 255), (255, 0)])
    assert bpe.encode_bytes(b"\x00\xff") == [256] and bpe.encode_bytes(b"\xff\x00") == [257]


def naive_merges(words, first_id, limit):
    """El algoritmo tal como se cuenta: rehacer todas las cuentas en cada fusión."""
    words, merges = {tuple(w): n for w, n in words.items()}, []
    while len(merges) < limit:
        counts = Counter()
        for word, n in words.items():
            for pair in pairwise(word):
                counts[pair] += n
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        new = first_id + len(merges)
        merges.append(best)
        updated = Counter()
        for word, n in words.items():
            updated[naive_merge(word, best, new)] += n
        words = updated
    return merges


def naive_merge(word, pair, new):
    result, i = [], 0
    while i < len(word):
        if tuple(word[i : i + 2]) == pair:
            result.append(new)
            i += 2
        else:
            result.append(word[i])
            i += 1
    return tuple(result)


words_of_three = st.lists(st.integers(0, 2), min_size=1, max_size=15).map(tuple)


@settings(max_examples=200)
@given(st.dictionaries(words_of_three, st.integers(1, 3), max_size=6), st.integers(0, 20))
def test_incremental_counts_equal_counting_again(words, limit):
    assert learn_merges(words, 3, limit) == naive_merges(words, 3, limit)


@given(st.lists(words_of_three, min_size=1, max_size=4), words_of_three)
def test_the_oldest_merge_goes_first(words, word):
    merges = naive_merges(dict.fromkeys(words, 1), 3, 10)
    expected = word
    for i, pair in enumerate(merges):
        expected = naive_merge(expected, pair, 3 + i)
    assert tuple(apply_merges(word, {pair: 3 + i for i, pair in enumerate(merges)})) == expected


def test_frequencies_weigh_and_min_frequency_stops():
    texts = ["ab"] * 3 + ["cd"] * 2 + ["ef"]
    assert ByteBPE.train(texts, 300).merges == ((97, 98), (99, 100), (101, 102))
    assert ByteBPE.train(texts, 300, min_frequency=2).merges == ((97, 98), (99, 100))


def test_merges_do_not_cross_pieces():
    tokenizer = ByteBPE.train(["sal y sal, y sal"] * 5, 400)
    tokens = [tokenizer.token_bytes(256 + i) for i in range(len(tokenizer.merges))]
    assert b" sal" in tokens and not [t for t in tokens if t.count(b" ") > 1 or b"l," in t]


def test_texts_may_come_one_by_one_and_their_order_is_all_the_same(recipes):
    first = ByteBPE.train(iter(recipes[:50]), 500)
    assert first == ByteBPE.train(recipes[:50][::-1], 500)


# --- ida y vuelta --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tokenizer(recipes):
    return ByteBPE.train(recipes, 1000)


@given(st.binary(max_size=200))
@example(bytes(range(256)))
@example("ñandú 🍲".encode()[:-1])
def test_any_bytes_round_trip(tokenizer, data):
    assert tokenizer.decode_bytes(tokenizer.encode_bytes(data)) == data


@given(any_text)
def test_bytes_and_text_agree(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.encode_bytes(text.encode()) == ids
    assert b"".join(map(tokenizer.token_bytes, ids)) == text.encode()
    assert "".join(tokenizer.pieces(text)) == text


def test_half_a_character_is_replaced_unless_told_otherwise():
    half = ByteBPE([]).encode("ñ")[:1]
    assert ByteBPE([]).decode(half) == "�"
    assert ByteBPE([]).decode(half, errors="ignore") == ""
    with pytest.raises(UnicodeDecodeError):
        ByteBPE([]).decode(half, errors="strict")


@pytest.mark.parametrize("pattern", [r"\p{L}+", "x*", r"\b", "x"])
def test_what_the_pattern_leaves_out_is_not_lost(pattern):
    plain = ByteBPE([], pattern=pattern)
    assert plain.decode(plain.encode("xx año, y\nx")) == "xx año, y\nx"


def test_special_tokens_come_only_when_asked_for(tokenizer):
    end, start = tokenizer.special("</s>"), tokenizer.special("<s>")
    assert (end, start) == (tokenizer.vocab_size - 1, tokenizer.vocab_size - 2)
    assert max(tokenizer.encode("hola</s>")) < tokenizer.special("<pad>")
    ids = tokenizer.encode("<s>hola</s>", special=True)
    assert ids == [start, *tokenizer.encode("hola"), end]
    assert tokenizer.decode(ids) == "hola"
    assert tokenizer.decode(ids, skip_special=False) == "<s>hola</s>"


def test_the_longest_special_name_wins():
    tokenizer = ByteBPE([], special_tokens=["<a>", "<a><b>", "|"])
    assert tokenizer.encode("<a><b>|<a>", special=True) == [257, 258, 256]
    assert ByteBPE([], special_tokens=[]).encode("a", special=True) == [97]


def test_long_runs_take_time_in_proportion():
    tokenizer = ByteBPE.train(["a" * 4096], 300)
    start = time.perf_counter()
    ids = tokenizer.encode("a" * 200_000)
    assert time.perf_counter() - start < 20
    assert tokenizer.decode_bytes(ids) == b"a" * 200_000 and len(ids) < 100


def test_the_cache_is_bounded_and_changes_nothing(tokenizer, monkeypatch):
    monkeypatch.setattr("course_lib.tokenization.byte_bpe.CACHED_PIECES", 4)
    fresh = pickle.loads(pickle.dumps(tokenizer))
    text = "una receta con muchas palabras distintas, todas en la misma frase"
    assert [fresh.encode(text), fresh.encode(text)] == [tokenizer.encode(text)] * 2
    assert len(fresh._cache) <= 4


# --- guardar y leer ------------------------------------------------------------------------------


def test_saved_and_read_again(tokenizer, tmp_path):
    for number, one in enumerate([tokenizer, ByteBPE([]), ByteBPE([], special_tokens=["«ñ»"])]):
        path = tmp_path / f"{number}.json"
        one.save(path)
        again = ByteBPE.load(path)
        assert again == one and hash(again) == hash(one) and again.vocab_size == one.vocab_size
        assert again.encode("sopa de ñandú") == one.encode("sopa de ñandú")
    assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer


def test_the_file_can_be_read_by_people_and_by_tokenizers(recipes, tokenizer, tmp_path):
    tokenizer.save(tmp_path / "bpe.json")
    text = (tmp_path / "bpe.json").read_text(encoding="utf-8")
    assert '\n  ["Ġ", "d"],\n' in text and '\n ],\n "merges": [\n  [' in text
    peer = hugging_face(recipes, 1000)
    assert [tuple(pair) for pair in json.loads(text)["merges"]] == merges_of_peer(peer)


@pytest.mark.usefixtures("warm_processes")
def test_a_cut_while_saving_leaves_the_old_file(tokenizer, tmp_path):
    """Un proceso guarda sin parar y muere de golpe; el archivo siempre es uno de los dos."""
    path = tmp_path / "bpe.json"
    small = ByteBPE([])
    small.save(path)
    tokenizer.save(tmp_path / "other.json")
    code = (
        "import sys; from course_lib.tokenization import ByteBPE\n"
        "a, b = ByteBPE([]), ByteBPE.load(sys.argv[2])\n"
        "print('listo', flush=True)\n"
        "while True:\n    b.save(sys.argv[1]); a.save(sys.argv[1])\n"
    )
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "other.json")]
    for delay in (0.0, 0.013, 0.05):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            time.sleep(delay)
            process.kill()
        assert ByteBPE.load(path) in (small, tokenizer)


def test_a_failed_save_leaves_no_rubbish(tokenizer, tmp_path, monkeypatch):
    path = tmp_path / "bpe.json"
    path.write_text("viejo")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disco lleno")))
    with pytest.raises(OSError, match="disco lleno"):
        tokenizer.save(path)
    assert path.read_text() == "viejo" and [p.name for p in tmp_path.iterdir()] == ["bpe.json"]


GOOD = {"format": "byte_bpe 1", "pattern": GPT2_PATTERN, "special_tokens": [], "merges": []}


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    "content, message",
    [
        ("", "no es un JSON completo"),
        ('{"format": "byte_bpe 1", "merges": [["a", "b"', "no es un JSON completo"),
        ("[" * 100_000, "no es un JSON completo"),
        (b"\xff\xfe", "no es un JSON completo"),
        ([1, 2], "se esperaba un objeto con «format»"),
        ({**GOOD, "format": "otro"}, "se esperaba un objeto con «format»"),
        ({**GOOD, "merges": None}, "en «merges» se esperaba una lista y llegó None"),
        ({**GOOD, "pattern": 3}, "en «pattern» se esperaba un texto y llegó 3"),
        ({**GOOD, "special_tokens": "<s>"}, "en «special_tokens» se esperaba una lista"),
        ({**GOOD, "special_tokens": ["<s>", "<s>"]}, "«<s>» está repetido"),
        ({**GOOD, "special_tokens": [7]}, "se esperaban nombres y llegó 7"),
        ({**GOOD, "pattern": "("}, "la expresión regular no sirve"),
        ({**GOOD, "pattern": "(a)"}, "no puede tener grupos"),
        ({**GOOD, "merges": [["a"]]}, "la fusión 0 debe ser un par de textos y es"),
        ({**GOOD, "merges": [["a", 2]]}, "la fusión 0 debe ser un par de textos y es"),
        ({**GOOD, "merges": [["a", "b"], ["abc", "b"]]}, "la fusión 1 usa «abc», que todavía no"),
        ({**GOOD, "merges": [["a", "b"], ["a", "b"]]}, "La fusión 1 da «ab», que ya es un token"),
    ],
)
def test_a_bad_file_is_refused_with_the_reason(content, message, tmp_path):
    path = tmp_path / "bpe.json"
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match="no es un tokenizador guardado") as caught:
        ByteBPE.load(path)
    assert message in str(caught.value) and str(path) in str(caught.value)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        ByteBPE.load(tmp_path / "no.json")


# --- errores de quien la usa ---------------------------------------------------------------------


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    "use, message",
    [
        (lambda t: ByteBPE.train("un texto", 300), "se esperaban varios textos y llegó uno"),
        (lambda t: ByteBPE.train([b"bytes"], 300), "se esperaban textos y llegó bytes"),
        (lambda t: ByteBPE.train(["a"], 258), "hacen falta al menos 259: 256 bytes y 3 tokens"),
        (lambda t: ByteBPE.train(["a"], 3e2), "vocab_size: se esperaba un número entero"),
        (lambda t: ByteBPE.train(["a"], 300, special_tokens="<s>"), "se esperaba una lista"),
        (lambda t: ByteBPE.train(["a"], 300, special_tokens=[""]), "se esperaban nombres"),
        (lambda t: ByteBPE([(97, 256)]), "La fusión 0 une 97 y 256"),
        (lambda t: ByteBPE([(-1, 97)]), "La fusión 0 une -1 y 97"),
        (lambda t: t.encode(b"hola"), "Se esperaba un texto (str) y llegó bytes"),
        (lambda t: t.encode("\ud83c"), "un sustituto suelto ('\\ud83c')"),
        (lambda t: t.encode("a\udc80"), "un sustituto suelto ('\\udc80')"),
        (lambda t: ByteBPE.train(["\ud83c"], 300), "un sustituto suelto ('\\ud83c')"),
        (lambda t: t.decode([97.5]), "se esperaban los números de unos tokens"),
        (lambda t: t.decode("97"), "se esperaban los números de unos tokens"),
        (lambda t: t.decode([5000]), "El token 5000 no existe: el vocabulario va de 0 a"),
        (lambda t: t.decode([-1]), "El token -1 no existe"),
        (lambda t: t.token_bytes(t.vocab_size), "no existe"),
        (lambda t: t.special("<unk>"), "No hay un token especial «<unk>»; los hay: <pad>, <s>"),
        (lambda t: ByteBPE([], special_tokens=[]).special("<s>"), "los hay: ninguno"),
    ],
)
def test_errors_say_what_was_expected(tokenizer, use, message):
    with pytest.raises(ValueError) as caught:
        use(tokenizer)
    assert message in str(caught.value)


@pytest.mark.usefixtures("as_user")
def test_ids_may_be_a_tensor(tokenizer):
    import torch

    assert tokenizer.decode(torch.tensor(tokenizer.encode("sopa"))) == "sopa"
