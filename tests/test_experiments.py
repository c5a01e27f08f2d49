"""Los experimentos: se reanudan, se eligen sin mirar la prueba y se cuentan con su intervalo."""

import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "experiments"
TINY = '''"""Un experimento diminuto

De juguete.
"""
import os, signal, time
from pathlib import Path
from benchmarks.experiments import Experiment, Rival, Splits

LOG = Path(__file__).with_name("log")
BETTER = {"a": (1.0, 0.0), "b": (0.5, 1.0), "roto": (float("nan"), 1.0), None: (0.2, 0.3)}


def splits(seed):
    return Splits(["se aprende"], ["se elige"], ["se mide"])


def fit(train, validation, setting, seed):
    assert (train, validation) == (["se aprende"], ["se elige"])
    with LOG.open("a") as log:
        log.write(f"{setting} {seed}\\n")
    if seed == 3 and Path(__file__).with_name("cut").exists():
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
    return setting, seed


def fitted(*arguments):
    setting, seed = fit(*arguments)
    return lambda examples: BETTER[setting][examples == ["se mide"]] + seed / 100


EXPERIMENT = Experiment(
    splits=splits,
    rivals={"nuestro": Rival(fitted, ("a", "roto", "b")), "otro": Rival(fitted)},
    measure=lambda model, examples: {"acierto": model(examples)},
    measures={"acierto": "%"},
    chosen_by="acierto",
    tuning_seeds=2,
)
'''
RUN = """
import sys
from pathlib import Path
from benchmarks.experiments import _running
if __name__ == "__main__":
    _running.UNFINISHED = Path(sys.argv[1])
    _running.run_all("tiny_experiment", "cpu", 1)
"""


@pytest.fixture
def package(monkeypatch, tmp_path):
    """Los módulos de `benchmarks.experiments`, y el experimento diminuto, también en otro proceso."""  # noqa: E501
    (tmp_path / "tiny_experiment.py").write_text(TINY, encoding="utf-8")
    (tmp_path / "run.py").write_text(RUN, encoding="utf-8")
    for folder in (ROOT, tmp_path):
        monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (ROOT, tmp_path))))
    monkeypatch.delitem(sys.modules, "tiny_experiment", raising=False)
    yield lambda name: importlib.import_module(f"benchmarks.experiments.{name}")
    sys.modules.pop("tiny_experiment", None)


@pytest.fixture
def running(package, tmp_path, monkeypatch):
    """Quien hace los experimentos, sin otro proceso: cada uno tarda lo que importar torch."""
    module, threads = package("_running"), torch.get_num_threads()
    monkeypatch.setattr(module, "UNFINISHED", tmp_path / "unfinished")
    monkeypatch.setattr(module, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    yield module
    torch.set_num_threads(threads)


def launch(folder):
    command = [sys.executable, folder / "run.py", folder / "unfinished"]
    # No vuelve mientras quede un proceso que escriba: el que muere no deja a nadie esperando.
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.usefixtures("warm_processes")
def test_a_killed_experiment_goes_on_where_it_was(package, tmp_path):
    (tmp_path / "cut").touch()
    assert launch(tmp_path).returncode == -9
    before = (tmp_path / "log").read_text().splitlines()
    assert before[-1].endswith(" 3") and len(before) > 3
    (tmp_path / "cut").unlink()
    done = launch(tmp_path)
    assert done.returncode == 0, done.stderr
    after = (tmp_path / "log").read_text().splitlines()
    assert [line for line in after if after.count(line) > 1] == [before[-1]] * 2, (
        "solo se repite lo que se estaba haciendo"
    )
    # De «a», «roto» y «b», dos semillas para elegir; después, las otras tres de la elegida.
    assert len(set(after)) == 3 * 2 + 3 + 5
    launch(tmp_path)
    assert (tmp_path / "log").read_text().splitlines() == after, "terminado, no se repite nada"


def test_each_rival_is_chosen_by_validation_and_reported_on_test(package, running):
    record_of = package("_record")
    found = running.run_all("tiny_experiment", "cpu", 1)
    experiment = running.load("tiny_experiment")
    record = record_of.make_record("tiny", "Uno\n\nDos.", experiment, found, "cpu")
    ours, other = record["rivals"]["nuestro"], record["rivals"]["otro"]
    assert ours["chosen"] == "a" and ours["at_edge"], "«b» es mejor solo en la prueba"
    assert ours["test"]["acierto"]["values"] == pytest.approx([0, 0.01, 0.02, 0.03, 0.04])
    assert ours["validation"]["acierto"]["mean"] == pytest.approx(1.02)
    difference = other["difference"]["acierto"]
    assert difference["mean"] == pytest.approx(0.3)
    assert difference["half_width"] == pytest.approx(0), "por parejas, la suerte común se va"
    assert ours["tried"][1] is None, "«roto» no tiene media, y no se elige"
    assert record["rows"] == [["nuestro", "2.0 ± 2.0"], ["otro", "32.0 ± 2.0"]]


def test_a_grid_grows_while_its_best_is_at_an_edge(package, running, tmp_path):
    kinds = package("_experiment")
    (tmp_path / "tiny_experiment.py").write_text(
        TINY
        + """
from math import log2
def best_at(power):
    return lambda train, validation, setting, seed: lambda examples: -abs(log2(setting) - power)
def with_grids(**rivals):
    return {name: Rival(best_at(power), grid) for name, (power, grid) in rivals.items()}
EXPERIMENT = Experiment(
    splits=splits,
    rivals=with_grids(
        dentro=(1, (1.0, 2.0, 4.0)), arriba=(4, (1.0, 2.0)), abajo=(-99, (1.0, 2.0, 4.0)),
        cuentas=(9, (1, 2)),
    ),
    measure=lambda model, examples: {"acierto": model(examples)},
    measures={"acierto": "%"},
    chosen_by="acierto",
)
""",
        encoding="utf-8",
    )
    found = running.run_all("tiny_experiment", "cpu", 1)
    experiment = running.load("tiny_experiment")
    rivals = package("_record").make_record("t", "Uno\n\nDos.", experiment, found, "cpu")["rivals"]
    grids = {name: (each["grid"], each["chosen"], each["at_edge"]) for name, each in rivals.items()}
    assert grids == {
        "dentro": ([1.0, 2.0, 4.0], 2.0, False),
        "arriba": ([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], 16.0, False),
        "abajo": ([0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0], 0.0625, True),
        "cuentas": ([1, 2], 2, True),
    }, "las cuatro veces que puede, y no lo que no se multiplica"
    assert kinds.beyond((5e-4, 1.5e-3), 1.5e-3) == 4.5e-3, "sin restos de la división"


def test_of_settings_that_tie_one_inside_the_grid_is_chosen(package):
    experiment = importlib.import_module("tiny_experiment").EXPERIMENT

    def chosen(*figures):
        return experiment.choose({i: [{"acierto": value}] for i, value in enumerate(figures)})

    assert chosen(1.0, 1.0, 1.0) == 1 and chosen(0.5, 1.0, 1.0) == 1 and chosen(1.0, 0.5, 1.0) == 0
    assert chosen(0.2, 0.5, 0.4, 0.9) == 3 and chosen(1.0) == 0
    assert chosen(0.5, 0.8995, 0.9) == 1, "lo que no se nota no alarga la rejilla sin fin"
    assert chosen(0.5, 0.898, 0.9) == 2 and chosen(0.5, 0.8, 0.7999, 0.6) == 1
    assert chosen(float("nan"), 0.5, float("nan")) == 1


def test_a_rival_says_with_whom_it_is_compared(package):
    tiny, running, record_of = map(package, ("_experiment", "_running", "_record"))
    runs = {
        name: [
            {"test": {"acierto": value}, "validation": {"acierto": 0.5}, "along": along}
            | {"setting": None, "seed": seed, "date": "2026-01-01", "seconds": 1.0}
            | {"sizes": [1, 1, 1], "parameters": None, "curve": None}
            for seed in range(5)
        ]
        for name, value, along in (
            ("a", 0.9, {}),
            ("b", 0.4, {"acierto": [(5, 0.2), (10, 0.4)]}),
            ("c", 0.3, {}),
        )
    }
    found = {name: running.Outcome(each, {None: [{"acierto": 0.5}]}) for name, each in runs.items()}
    nobody = importlib.import_module("tiny_experiment").EXPERIMENT
    same = tiny.Rival(None)
    experiment = replace(nobody, rivals={"a": same, "b": same, "c": tiny.Rival(None, against="b")})
    record = record_of.make_record("tiny", "Uno\n\nDos.", experiment, found, "cpu")
    means = {name: r["difference"]["acierto"]["mean"] for name, r in record["rivals"].items()}
    assert means == pytest.approx({"a": 0.0, "b": -0.5, "c": -0.1})
    assert "−10.0 ± 0.0 con «b»" in record_of.as_markdown(record)
    assert record["rivals"]["b"]["along"]["acierto"]["steps"] == [5, 10]
    with pytest.raises(ValueError, match="«c»: se compara con «d», que no compite"):
        replace(experiment, rivals={"a": same, "c": tiny.Rival(None, against="d")})


def test_the_interval_is_student_s(package):
    interval = package("_record").interval
    found = interval([1, 2, 3, 4, 5])
    assert found["mean"] == 3
    assert found["half_width"] == pytest.approx(2.7764 * 2.5**0.5 / 5**0.5, abs=1e-4)
    assert interval([2])["half_width"] is None
    with pytest.raises(ValueError, match="números finitos"):
        interval([1, float("nan")])


def test_the_curve_is_the_mean_of_the_seeds(package):
    curves = [[(10, 2.0), (20, 1.0)], [(10, 4.0), (20, 1.0)]]
    found = package("_record")._mean_curve(curves)
    assert found["steps"] == [10, 20] and found["mean"] == [3.0, 1.0]
    assert found["half_width"][0] > 1 and found["half_width"][1] == 0


def test_a_spike_is_far_above_its_own_past_and_counts_once(package):
    spikes = package("spikes").spikes
    curve = [1.0] * 300
    curve[100] = curve[200] = curve[210] = curve[280] = 1.2
    assert spikes(curve) == [200, 280], "antes del 150 no se mira; a menos de 50 pasos, es el mismo"
    assert spikes([1.0 + 0.01 * (step % 9) for step in range(300)]) == []
    assert spikes([3.0 - 0.005 * step for step in range(300)]) == []


def test_a_copied_training_goes_on_alike_and_apart(package):
    module = package("spikes")
    model = module.build(vocab_size=7, d_model=8, num_heads=2, num_layers=1)
    adam = torch.optim.Adam(model.parameters())
    batches = torch.randint(1, 7, (6, 2, 5), generator=torch.Generator().manual_seed(0))
    run = module.Training(model, adam, batches[0], rate=1e-2, clip=1.0, z=0.0)
    run.step(batches[1])
    copied = deepcopy(run)
    for batch in batches[2:4]:
        run.step(batch)
    assert len(copied.curve) == 1 and copied.curve == run.curve[:1]
    same, other = deepcopy(copied), deepcopy(copied)
    for batch in batches[2:4]:
        same.step(batch)
    for batch in batches[4:6]:
        other.step(batch)
    assert same.curve == run.curve, "los mismos lotes desde el mismo punto dan lo mismo"
    assert other.curve[0] == run.curve[0] and other.curve[1:] != run.curve[1:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": (0, 1, 2)}, "se esperaban 5 semillas distintas o más"),
        ({"seeds": (0, 1, 2, 3, 3)}, "se esperaban 5 semillas distintas o más"),
        ({"tuning_seeds": 0}, "tuning_seeds: se esperaba de 1 a 5"),
        ({"chosen_by": "gusto"}, "chosen_by: se esperaba una de"),
        ({"measures": {"acierto": "kg"}}, "measures: se esperaba una unidad"),
        ({"rivals": {}}, "rivals: se esperaba al menos uno además del nuestro"),
    ],
)
def test_an_experiment_that_proves_nothing_is_refused(package, change, message):
    experiment = importlib.import_module("tiny_experiment").EXPERIMENT
    with pytest.raises(ValueError, match=message):
        replace(experiment, **change)


def test_bad_splits_and_measures_are_refused(package):
    tiny, kinds = importlib.import_module("tiny_experiment"), package("_experiment")
    leaky = replace(tiny.EXPERIMENT, splits=lambda seed: kinds.Splits([1, 2], [3], [4, 2]))
    with pytest.raises(ValueError, match="1 ejemplos de la prueba que están también fuera"):
        leaky.split(0)
    empty = replace(tiny.EXPERIMENT, splits=lambda seed: kinds.Splits([1], [], [2]))
    with pytest.raises(ValueError, match=r"no hay ejemplos en .*validation"):
        empty.split(0)
    partial = replace(tiny.EXPERIMENT, measure=lambda model, examples: {})
    with pytest.raises(ValueError, match="measure: se esperaba"):
        partial.figures(None, [])
    with pytest.raises(ValueError, match=r"se esperaba EXPERIMENT = Experiment"):
        package("_running").load("json")


@pytest.mark.usefixtures("warm_processes")
def test_an_unknown_experiment_is_wrong_usage():
    command = [sys.executable, "-m", "benchmarks.experiments", "no_existe"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2 and "no_existe" in run.stderr and "decoder" in run.stderr


def test_every_experiment_has_its_record(package):
    record_of, running = package("_record"), package("_running")
    modules = pkgutil.iter_modules([ROOT / "benchmarks" / "experiments"])
    names = {module.name for module in modules if module.name[0] != "_"}
    assert names == {path.stem for path in RECORDS.glob("*.json")}
    for name in sorted(names):
        record = json.loads((RECORDS / f"{name}.json").read_text("utf-8"))
        experiment = running.load(f"benchmarks.experiments.{name}")
        assert list(record["rivals"]) == list(experiment.rivals)
        assert len(record["seeds"]) >= 5 and record["machine"]["fecha"]
        doc = sys.modules[f"benchmarks.experiments.{name}"].__doc__
        assert [record["title"], *record["details"]] == doc.strip().split("\n\n")
        page = (RECORDS / f"{name}.md").read_text("utf-8")
        assert page == record_of.as_markdown(record), f"{name}.md no es lo que dice su .json"


def test_the_translators_are_asked_for_what_nobody_read(package, monkeypatch):
    module = package("translator")
    monkeypatch.setattr(module, "RECIPES", 900)
    monkeypatch.setattr(module, "APART", 40)
    monkeypatch.setattr(module, "known_and_apart", module.known_and_apart.__wrapped__)
    train, *asked = module.splits.__wrapped__(0)
    read = {line[:2] for line in train}
    words = {word for pair in read for text in pair for word in module.words(text)}
    structures = {pair[:2]: tags for side in module.known_and_apart() for pair, tags in side}
    known = {structures[pair] for pair in read}
    seen = []
    for part in asked:
        assert {line.new for line in part} == {module.COMBINATION, module.STRUCTURE, module.LONG}
        for line in part:
            assert line[:2] not in read and words.issuperset(module.words(" ".join(line[:2])))
            if line.new == module.STRUCTURE:
                assert structures[line[:2]] not in known, line
            if line.new == module.LONG:
                assert len(re.findall(r"\.(?: |$)", line.source)) == 2, line
        seen.append({line[:2] for line in part if line.new != module.LONG})
    assert seen[0].isdisjoint(seen[1]), "lo que elige no es lo que mide"


def test_a_story_is_in_one_part_with_its_three_questions(package, monkeypatch):
    module = package("stories")
    for name, count in (("TRAIN", 40), ("VALIDATION", 10), ("TEST", 10)):
        monkeypatch.setattr(module, name, count)
    parts = module.splits(0)
    told = [{example.story for example in part} for part in parts]
    assert len(set.union(*told)) == sum(map(len, told)) == 60 * len(module.LENGTHS)
    for part, stories in zip(parts, told, strict=True):
        asked = {(example.story, example.facts) for example in part}
        assert len(part) == len(asked) == 3 * len(stories)


def test_the_rules_of_the_stories_do_what_they_say(package):
    module = package("stories")
    told = ("Ana va al patio.", "Ana toma el ajo.", "Ana va a la cocina.", "Ana deja el ajo.")
    told = (*told, "Ana va al huerto.", "Luis entra en la despensa.")
    rules = module.last_to_touch, module.one_fact, module.last_place
    for question, said in (
        ("¿Dónde está Ana?", ["huerto", "huerto", "despensa"]),
        ("¿Dónde está el ajo?", ["huerto", "cocina", "despensa"]),
        ("¿Dónde estaba el ajo antes de la cocina?", ["huerto", "cocina", "despensa"]),
        ("¿Dónde estaba el ajo antes del huerto?", ["cocina", "cocina", "despensa"]),
    ):
        assert [rule(module.Example(told, question, "", 0)) for rule in rules] == said


def test_a_program_is_in_one_part_and_does_what_its_task_says(package, monkeypatch):
    module = package("executing")
    monkeypatch.setattr(module, "TRAIN", 1000)
    monkeypatch.setattr(module, "APART", 100)
    parts = module.splits(0)
    assert [len(part) for part in parts] == [3 * 1000, 3 * 100, 3 * 100]
    texts = [program.text for part in parts for program in part]
    assert len({*texts}) == len(texts)
    for part in parts:
        sums = [program.text.count("+") for program in part if program.task == "sumas"]
        assert sums.count(1) < len(sums) / 10, "los cortos son pocos, y no caen todos en una parte"
    for program in parts.train:
        pieces = {*module.PIECE.findall(program.text)}
        assert pieces <= module.IDS.keys() and 0 <= program.answer < 100
        assert ("if" in pieces) == ("else" in pieces)
        if program.task == "control":
            assert "if" in pieces and not pieces & {"+", "-", "+=", "for _ in range"}
        if program.task == "sumas":
            assert program.answer == sum(map(int, program.text[6:-1].split("+")))
    loop = "a=2\nb=3\nc=b\nfor _ in range(4):c+=9\nd=a if c<b else c\nprint(d)"
    assert module.printed(loop) == 39
    assert module.printed("print(0-3)") is None and module.printed("print(99+1)") is None


def test_an_answer_to_a_program_is_read_in_its_slots(package):
    module = package("executing")
    told = [module.Program("sumas", "print(8+9)", 17), module.Program("control", "print(4)", 4)]
    rows = module.as_ids(told)
    assert module.start_of(rows).tolist() == [module.LONGEST - 8, module.LONGEST - 6]
    places = module.in_slots(rows, torch.arange(8).expand(2, 8))
    assert places.tolist() == [[6, 7], [4, 5]], "detrás de cada programa, no del relleno"
    assert module.digits_of([17, 4]).tolist() == [[1, 7], [0, 4]]
    told.append(module.Program("programas", "print(5)", 5))
    asked = [module.Program("sumas", text, 0) for text in ("print(9+2)", "print(8+2)")]
    read = [module.Program("sumas", "print(8+9)", 17), module.Program("sumas", "print(2+9)", 11)]
    assert module.same_pieces(read, [], None, 0)(asked)[0] == 11, "sin mirar el orden"
    assert module.nearest(read, [], None, 0)(asked)[1] == 17, "lugar por lugar"
    found = module.measure(lambda examples: [17, 14, 120], told)
    assert found["respuestas"] == pytest.approx(1 / 3)
    assert [found[f"cifras, {task}"] for task in module.TASKS] == [1, 0.5, 0]


def test_a_sentence_is_read_by_its_words_in_order_and_not_by_its_padding(package):
    module = package("stories")
    words = ("Ana", "va", "al", "patio")
    model = module.Reader(torch.nn.Identity(), {word: i for i, word in enumerate(words, 1)})
    with torch.no_grad():
        model.places[:4] = torch.arange(1.0, 5.0)[:, None]
        rows = torch.tensor([[[1, 2, 3, 4, 0, 0, 0, 0]], [[2, 1, 3, 4, 0, 0, 0, 0]]])
        first, second = model(rows).encoded[:, 0]
        assert not torch.allclose(first, second)
        model.places[4:] = 9.0
        assert torch.equal(model(rows).encoded[0, 0], first)


def test_the_counts_of_a_novel_are_probabilities(package, monkeypatch):
    module = package("novel")
    monkeypatch.setattr(module, "VOCABULARY", 30)
    random = np.random.default_rng(0)
    counts = module.Counts(random.geometric(0.3, 600))
    for past in random.geometric(0.3, (20, module.ORDER - 1)):
        following = [counts(np.append(past, piece)).item() for piece in range(30)]
        assert min(following) > 0 and sum(following) == pytest.approx(1)


def test_what_was_just_read_follows_the_same_pieces(package, monkeypatch):
    module = package("novel")
    monkeypatch.setattr(module, "CACHE", 5)
    # Detrás de 1 2, antes, un 3; lo que se leyó hace más de cinco piezas ya no cuenta.
    found = module.just_read(np.array([1, 2, 3, 1, 2, 3, 9, 3]))
    one, two = 1 / 5, (1 + 1 / 5) / 2
    assert found[4] == pytest.approx((1 + two) / 2)
    assert found[5] == 0, "nunca se leyó un 9"
    assert found[0] == 0 and found[6] == pytest.approx(2 / 5)
    assert one < two < found[4]


def test_a_word_of_the_novel_is_remembered_or_unread(package):
    module = package("novel")
    text = "ventero " + "y " * 40 + "ventero ventero " + "o " * 130 + "ventero"
    kinds = module.kinds_of(text, [1] * len(text))
    places = [text.index("ventero"), *(m.start() for m in re.finditer("(?<= )ventero", text))]
    assert [kinds[place] for place in places] == [
        module.UNREAD,
        module.REMEMBERED,
        module.OTHER,
        module.UNREAD,
    ]
    assert kinds[7] == module.OTHER, "un espacio no es de ninguna palabra"
    assert kinds[places[1] : places[1] + 7] == [module.REMEMBERED] * 7


def test_without_a_novel_its_reader_says_what_to_put(package, monkeypatch, tmp_path):
    module = package("novel")
    monkeypatch.setattr(module, "TEXT", tmp_path / "novel.txt")
    monkeypatch.setattr(module, "chapters", module.chapters.__wrapped__)
    with pytest.raises(ValueError, match="dominio público: copia ahí el tuyo"):
        module.splits(0)
    module.TEXT.write_text("Capítulo I. Uno\n\n" * 5, encoding="utf-8")
    with pytest.raises(ValueError, match=r"más de 30 capítulos.*y hay 5"):
        module.splits(0)
    chapters = (f"Capítulo {i}. De lo que\npasó\n\nEra la {i}.\n\n" for i in range(31))
    module.TEXT.write_text("Prólogo\n\n" + "".join(chapters), encoding="utf-8")
    found = module.splits(0)
    assert list(map(len, found)) == [12, 10, 10]
    assert module.chapters()[1] == "Capítulo 0. De lo que pasó\n\nEra la 0.\n\n"


MARKS = re.compile(r"\{[\w:-]+\}`([^`<]*?)(?:\s*<[^>]*>)?`|\*\*|(?<!\w)\*|\*(?!\w)")


def read_page(name):
    """Lo que se lee de una página, en un solo renglón."""
    text = (ROOT / "book" / f"{name}.md").read_text("utf-8")
    return " ".join(MARKS.sub(lambda found: found[1] or "", text).split())


def test_the_book_says_what_the_table_of_claims_says(package):
    claims = package("_claims")
    table = claims.read_claims()
    for claim in table:
        gone = claim["verdict"] == "se retiró"
        assert (claim["says"] in read_page(claim["page"])) != gone, claim["says"]
        if "record" in claim and claim["record"] != "página":
            assert (RECORDS.parent / f"{claim['record']}.json").is_file(), claim["record"]
    assert claims.TABLE.read_text("utf-8") == claims.as_markdown(table), (
        "la tabla no está al día: python -m benchmarks.experiments --claims"
    )


def test_every_figure_of_a_record_in_the_book_is_in_the_table(package):
    known = {claim.get("figure") for claim in package("_claims").read_claims()}
    for path in (ROOT / "book").glob("*.md"):
        text = path.read_text("utf-8")
        used = {" ".join(t.split()) for t in re.findall(r"\{record\}`[^`]*<([^<>`]+)>`", text)}
        assert used <= known, f"{path.stem}: faltan en benchmarks/claims.toml {used - known}"
