"""Los diagramas de decodificación dicen lo que calcula la biblioteca, con la tabla del capítulo."""

import ast
import itertools
import re
from pathlib import Path

import pytest
import torch

from book._figures import decoding as drawn
from course_lib.decoding import beam_steps, sampling_distribution

CHAPTER = Path(__file__).parents[2] / "book" / "decoding.md"
WORDS = [*drawn.NEXT, "zanahoria", "manzanas", "fin"]


def of_chapter(name):
    """El valor de una variable escrita en una celda del capítulo."""
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", CHAPTER.read_text("utf-8"), re.S)
    code = [re.sub(r"\A(:[^\n]*\n|---\n.*?^---\n)", "", cell, flags=re.S | re.M) for cell in cells]
    for node in ast.walk(ast.parse("\n".join(code))):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return node.value
    raise AssertionError(f"el capítulo no define {name}")


def table():
    P = torch.zeros(len(WORDS), len(WORDS), dtype=torch.float64)
    P[:, WORDS.index("fin")] = 1.0  # las palabras sin fila solo tienen el fin detrás
    for before, options in drawn.NEXT.items():
        P[WORDS.index(before)] = 0.0
        for after, probability in options.items():
            P[WORDS.index(before), WORDS.index(after)] = probability
    return P.log()


def test_the_tree_uses_the_table_of_the_chapter():
    written = ast.literal_eval(of_chapter("next_word"))
    assert {word: written[word] for word in drawn.NEXT} == drawn.NEXT


def test_the_tree_keeps_what_the_search_keeps():
    log_p = table()
    steps = beam_steps(
        lambda ids, state: (log_p[ids], None),
        torch.tensor([[WORDS.index("inicio")]]),
        beam_size=drawn.BEAM,
        length_penalty=0.0,
        end_id=WORDS.index("fin"),
        max_new_tokens=6,
    )
    found = {
        tuple(WORDS[i] for i in tokens): p
        for step in steps
        for tokens, p in zip(
            step.token_ids[0].tolist(), step.log_probability[0].exp().tolist(), strict=True
        )
    }
    kept = {words: drawn.probability(words) for words in drawn.TOPS if drawn.kept(words)}
    assert found == pytest.approx(kept)


def test_the_roulette_shares_are_those_of_the_library():
    source = of_chapter("pantry")
    assert ast.literal_eval(source) == list(drawn.SAUCE)
    p = torch.tensor(list(drawn.SAUCE.values()), dtype=torch.float64)
    svg = drawn.decoding_roulette().svg()
    for title, options in {
        "Las probabilidades del modelo": {},
        "Temperatura 0.5": {"temperature": 0.5},
        "Temperatura 2": {"temperature": 2.0},
        "top-k, con k = 3": {"top_k": 3},
        "top-p, con p = 0.6": {"top_p": 0.6},
    }.items():
        gathered = sampling_distribution(p.log(), **options).cumsum(0)
        word = list(drawn.SAUCE)[int((gathered <= drawn.DRAWN).sum())]
        assert f"{title}: sale «{word}»" in svg


def test_the_three_paths_have_the_probabilities_of_their_sentences():
    svg = drawn.decoding_three_paths().svg()
    log_p = table()
    for path in (("corta", "la", "cebolla"), ("pela", "las", "papas"), ("sirve",)):
        ids = [WORDS.index(word) for word in ("inicio", *path, "fin")]
        total = sum(float(log_p[a, b]) for a, b in itertools.pairwise(ids))
        assert f"= {torch.tensor(total).exp():.3f}<" in svg
