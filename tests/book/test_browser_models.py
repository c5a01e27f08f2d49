"""Los modelos guardados dan en el navegador lo mismo que en la biblioteca, y sus laboratorios."""

import random
import re
from itertools import product
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from book._figures import bert as bert_figures
from book._figures import decoding as decoding_figures
from book._figures import fine_tuning as tuning_figures
from book._figures import palm as palm_figures
from book._figures import text_classifier as text_classifier_figures
from book._figures import transformer_xl as xl_figures
from book._figures import translator as translator_figures
from book._figures import universal_transformer as universal_figures
from book._models import classifying, remembering, searching, translating, tuning, writing
from course_lib.data.algorithmic import FIRST_BOX, follow, treasure_hunt
from course_lib.data.opinions import generate_opinions
from course_lib.data.recipes import generate_recipes, split_recipes, translation_pairs
from course_lib.decoding import beam, greedy, sampling_distribution
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.models.text_classifier import TextClassifier, TextClassifierConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.plotting import format_number
from course_lib.pretrained import (
    load_bert,
    load_model,
    load_palm,
    load_transformer,
    save_model,
    save_palm,
    save_transformer,
)
from course_lib.recording import attention_maps
from course_lib.tokenization import ByteBPE, WordPiece, WordVocabulary, split_words
from tests.book.conftest import ROOT

pytestmark = pytest.mark.browser
MODELS, STATIC = ROOT / "book" / "_models", ROOT / "book" / "_static"
HOME, PARITY = "http://curso.prueba/", {"atol": 1e-4, "rtol": 0}
FOLDERS = {"labs": STATIC / "labs", "models": MODELS}
MODULES = (
    *("folder", "transformer", "bert", "palm", "byte_bpe", "word_piece", "writing"),
    *("universal", "words", "classifier", "transformer_xl"),
)
ODD = (
    *("", " ", "  dos  espacios ", "\n\t¿Qué?\r\n", "«¡Sí!»", "l'été n’est pas", "don't you'll"),
    *("🙂👩‍👩‍👧 🇲🇽", "a\u0301n\u0303 é ñ Ñ", "漢字とかな 한국어", "ΣΑΣ ΟΔΟΣ", "İstanbul ß ẞ ﬁ"),
    *("\ufeffhola\ufeff", "\x00\x1c\x1f\x85\xa0\u1680\u2028\u3000x\u200b\u00ad", "\ufffd\ue000"),
    *("[MASK] <s> </s> <pad>", "a" * 130, "_-.,;:¿?[]{}~`^|\\/€$+=<>№", "𝔘𝔫𝔦 𐐀𐐨", "١٢٣ ½ ² Ⅷ"),
)  # fmt: skip
# Trozos de Unicode que usan las lenguas y los signos.
BLOCKS = (
    *((0x20, 0x250), (0x300, 0x400), (0x5D0, 0x660), (0x2000, 0x2070), (0x3040, 0x3100)),
    *((0x1F600, 0x1F640), (0x4E00, 0x4E40), (0x400, 0x460), (0x1E00, 0x1F00), (0, 0x20)),
)


def serve(page, html: str, extra: dict[str, Path] | None = None) -> None:
    """La página, los guiones de book/_static/labs, los modelos guardados y los de `extra`."""

    def answer(route):
        kind, _, rest = route.request.url.removeprefix(HOME).split("?")[0].partition("/")
        name, _, file = rest.partition("/")
        path = (extra or {}).get(name, FOLDERS.get(kind, STATIC) / name) / file
        if not rest:
            route.fulfill(body=f"<meta charset=utf-8>{html}", content_type="text/html")
        elif path.is_file():
            script = {"content_type": "text/javascript"} if path.suffix == ".js" else {}
            route.fulfill(body=path.read_bytes(), **script)
        else:
            route.fulfill(status=404)

    page.route("**/*", answer)
    page.goto(HOME)


@pytest.fixture(scope="module")
def extra() -> dict[str, Path]:
    """Otros modelos que sirve `page`."""
    return {}


@pytest.fixture(scope="module")
def page(chromium, extra):
    """Una página con los módulos de los modelos en `own`."""
    page = chromium.new_page()
    serve(page, "<script>const laboratory = {};</script>", extra)
    modules = [f"{HOME}labs/model/{name}.js" for name in MODULES]
    page.evaluate(
        """async ([home, modules]) => {
          globalThis.own = Object.assign({}, ...await Promise.all(modules.map((each) => import(each))));
          globalThis.folder = (name) => new own.Folder(`${home}models/${name}/`, "0");
          const read = async (Model, name) =>
            new Model(await folder(name).json("config.json"), await folder(name).tensors());
          const known = {};
          globalThis.open = (Model, name) => (known[name] ??= read(Model, name));
        }""",  # noqa: E501
        [HOME, modules],
    )
    yield page
    page.close()


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Renglones del corpus: en español los pares, en inglés los impares."""
    pairs = translation_pairs(generate_recipes(400))
    return [text for pair in pairs for text in (pair.source, pair.target)]


@pytest.fixture(scope="module")
def translator():
    return translating.read_translator(MODELS / "translator")


@pytest.fixture(scope="module")
def bert():
    pieces = WordPiece(MODELS / "bert" / "vocab.txt", strip_accents=False)
    return load_bert(MODELS / "bert").float(), pieces


# --- los tokenizadores -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts(lines) -> list[str]:
    """Más de mil renglones distintos del corpus y seiscientos textos raros."""
    draw = random.Random(0)

    def drawn() -> str:
        return "".join(chr(draw.randrange(*draw.choice(BLOCKS))) for _ in range(12))

    corpus = sorted(set(lines))[:2000]
    assert len(corpus) >= 1000
    return [*corpus, *ODD, *(drawn() for _ in range(600))]


def test_the_byte_pairs_are_those_of_the_library(page, texts):
    bpe = ByteBPE.load(MODELS / "translator" / "tokenizer.json")
    found = page.evaluate(
        """async (texts) => {
          const bpe = new own.ByteBPE(await folder("translator").json("tokenizer.json"));
          return texts.map((text) => bpe.encode(text)).map((ids) => [ids, bpe.decode(ids)]);
        }""",
        texts,
    )
    for text, (ids, back) in zip(texts, found, strict=True):
        assert ids == bpe.encode(text) and back == text, repr(text)


def test_bytes_that_are_no_character_are_written_as_the_library_does(page):
    bpe, draw = ByteBPE.load(MODELS / "translator" / "tokenizer.json"), random.Random(1)
    broken = [[draw.randrange(bpe.vocab_size) for _ in range(8)] for _ in range(300)]
    found = page.evaluate(
        """async (all) => {
          const bpe = new own.ByteBPE(await folder("translator").json("tokenizer.json"));
          return all.map((ids) => bpe.decode(ids));
        }""",
        broken,
    )
    assert found == [bpe.decode(ids) for ids in broken]


@pytest.mark.parametrize("strip", [False, True])
def test_the_word_pieces_are_those_of_the_library(page, texts, strip):
    pieces = WordPiece(MODELS / "bert" / "vocab.txt", strip_accents=strip)
    found = page.evaluate(
        """async ([texts, strip_accents]) => {
          const settings = await folder("bert").json("tokenizer_config.json");
          const vocabulary = await folder("bert").text("vocab.txt");
          const pieces = new own.WordPiece(vocabulary, { ...settings, strip_accents });
          return texts.map((text) => [pieces.words(text), pieces.encode(text)]);
        }""",
        [texts, strip],
    )
    for text, (words, ids) in zip(texts, found, strict=True):
        assert words == pieces.words(text) and ids == pieces.encode(text), repr(text)


def test_the_words_are_those_of_the_library(page, texts):
    vocabulary = WordVocabulary.load(MODELS / "text_classifier" / "words.json")
    found = page.evaluate(
        """async (texts) => {
          const words = new own.Words(await folder("text_classifier").json("words.json"));
          return texts.map((text) => [own.split(text), words.encode(text)]);
        }""",
        texts,
    )
    for text, (words, ids) in zip(texts, found, strict=True):
        assert words == split_words(text) and ids == vocabulary.encode(text), repr(text)


# --- los modelos -------------------------------------------------------------------------------


def difference(page, name: str, model: Transformer, source: list[int], target: list[int]) -> float:
    """La mayor diferencia con torch en lo codificado, los pesos propios y cruzados y los logits."""
    found = page.evaluate(
        """async ([name, source, target]) => {
          const model = await open(own.Transformer, name), { encoded, weights } = model.encode(source);
          const plain = (all) => Array.from(all, (each) => (typeof each === "number" ? each : plain(each)));
          const logits = [], cross = [];
          let state = model.start(source);
          for (const id of target) {
            const found = model.step(id, state);
            logits.push(found.logits);
            cross.push(found.cross);
            state = found.state;
          }
          return [encoded, weights, logits, cross].map(plain);
        }""",  # noqa: E501
        [name, source, target],
    )
    x, layers = torch.tensor([source]), model.config.num_layers
    with torch.no_grad(), attention_maps(model) as A:
        logits, encoded = model(x, torch.tensor([target])), model.encode(x)
    # En cada bloque del decodificador, los pesos propios y los cruzados.
    cross = torch.stack(A[layers : 3 * layers][1::2])[:, 0].permute(2, 0, 1, 3)
    expected = (encoded[0], torch.stack(A[:layers])[:, 0], logits[0], cross)
    return max(apart(*pair) for pair in zip(found, expected, strict=True))


def apart(found: list, expected: torch.Tensor) -> float:
    found = torch.tensor(found, dtype=torch.float32)
    assert_close(found, expected, **PARITY)
    return (found - expected).abs().max().item()


def test_the_stored_translator_answers_as_torch(page, lines, translator, record_property):
    pairs = list(zip(lines[::2], lines[1::2], strict=True))[:60:3]
    examples = [translator.example(*pair) for pair in pairs]
    most = max(difference(page, "translator", translator.model, x, y[:-1]) for x, y in examples)
    record_property("diferencia", most)


def test_every_variant_of_the_transformer_answers_as_torch(page, extra, tmp_path):
    torch.manual_seed(0)
    kinds = (("post", "pre", "sandwich"), ("layer", "rms"), ("relu", "gelu"))
    for i, (placement, norm, activation) in enumerate(product(*kinds)):
        config = TransformerConfig(
            40,
            target_vocab=(None, 30)[i % 2],
            d_model=16,
            num_heads=2,
            num_layers=2,
            d_ff=24,
            max_length=20,
            placement=placement,
            norm=norm,
            activation=activation,
            positions=(None, "learned", "sinusoidal")[i % 3],
            final_norm=(None, True, False)[i % 3],
        )
        extra[f"variant{i}"] = tmp_path / str(i)
        save_transformer(Transformer(config), extra[f"variant{i}"])
        stored = load_transformer(extra[f"variant{i}"])
        difference(page, f"variant{i}", stored, [5, 6, 7, 29, 2], [1, 8, 9, 3])


def test_the_stored_bert_answers_as_torch(page, lines, bert, record_property):
    (model, pieces), most = bert, 0.0
    for line in lines[:120:6]:
        ids, _ = pieces.encode_pair(line)
        ids[len(ids) // 2] = pieces.special("[MASK]")
        found = page.evaluate(
            """async (ids) => {
              const model = await open(own.MaskedBert, "bert");
              const { states, weights } = model.read(ids);
              return [weights.map((block) => block.map((head) => head.map((row) => [...row]))),
                states.map((state) => [...model.guess(state)])];
            }""",
            ids,
        )
        with torch.no_grad(), attention_maps(model) as A:
            logits = model(torch.tensor([ids])).tokens[0]
        most = max(most, apart(found[0], torch.stack(A)[:, 0]), apart(found[1], logits))
    record_property("diferencia", most)


@pytest.fixture(scope="module")
def tuned():
    return tuning.read_tuned(MODELS / "five_tasks")


def read_as_pair(pieces: WordPiece, *texts: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Lo que lee el ajustado: los tokens y los segmentos de una o dos partes."""
    ids, segments = tuning.experiment.joined(*map(pieces.encode, texts))
    return torch.tensor([ids]), torch.tensor([segments])


@torch.no_grad()
def tuned_shares(model, pieces: WordPiece, task: str, first: str, second: str) -> torch.Tensor:
    """Las que da la biblioteca: de las clases, las opciones, los tramos o las categorías."""
    head = model.heads[task]
    if task == "choice":
        scores = [
            head.score(head.bert(*read_as_pair(pieces, first, o))) for o in second.split("\n")
        ]
        return torch.cat(scores, dim=-1)[0].softmax(-1)
    if task == "question":
        token_ids, segments = read_as_pair(pieces, second, first)
        start, end = (scores[0] for scores in head(token_ids, segments))
        inside = (segments[0] == 1) & (token_ids[0] != pieces.special("[SEP]"))
        allowed = torch.ones(len(inside), len(inside)).triu().tril(9).bool()
        allowed &= inside[:, None] & inside
        return (start[:, None] + end)[allowed].softmax(-1).sort(descending=True).values
    if task == "words":
        sizes = [len(pieces.encode(word)) for word in pieces.words(first)]
        starts = 1 + torch.tensor([0, *sizes[:-1]]).cumsum(0)
        scores = head(*read_as_pair(pieces, first))[0]
        return scores[starts[starts < len(scores) - 1]].softmax(-1)
    return head(*read_as_pair(pieces, *filter(None, (first, second))))[0].softmax(-1)


# Un ejemplo de cada tarea, como se escribe en el laboratorio.
AS_WRITTEN = {
    "sentence": lambda e: (e.text, ""),
    "pair": lambda e: (e.first, e.second),
    "choice": lambda e: (e.context, "\n".join(e.choices)),
    "question": lambda e: (e.context, e.question),
    "words": lambda e: (" ".join(e.words), ""),
}


def own_texts(count: int) -> list[tuple[str, str, str]]:
    """Ejemplos apartados de cada tarea, y uno que no cabe."""
    found = [
        (name, *AS_WRITTEN[name](example))
        for name, task in tuning.TASKS.items()
        for example in task.make(count, 9, held_out=True)
    ]
    return found + [(name, f"{first} " * 40, second) for name, first, second in found[::count]]


def test_the_five_heads_answer_as_torch(page, tuned, record_property):
    (model, pieces), texts = tuned, own_texts(4)
    found = page.evaluate(
        """async ([home, texts]) => {
          const { Answers } = await import(`${home}labs/five_tasks.js`);
          const vocabulary = await folder("five_tasks").text("vocab.txt");
          const pieces = new own.WordPiece(vocabulary, await folder("five_tasks").json("tokenizer_config.json"));
          const answers = new Answers(await open(own.TunedBert, "five_tasks"), pieces);
          return texts.map(([task, first, second]) => {
            const given = task === "choice" ? second.split("\\n") : second;
            const found = answers[task](first, given);
            const shares = found.spans ? found.spans.map(({ share }) => share) : found.shares;
            return Array.from(shares, (each) => (typeof each === "number" ? each : [...each]));
          });
        }""",  # noqa: E501
        [HOME, texts],
    )
    expected = [tuned_shares(model, pieces, *text) for text in texts]
    record_property("diferencia", max(map(apart, found, expected)))
    assert len(found[-1]) < len(pieces.words(texts[-1][1]))  # lo que no cabe se corta igual


def test_it_writes_and_searches_as_the_library_does(page, lines, translator):
    texts = [*lines[:24:4], "Sopa de gato", "El gato come."]
    found = page.evaluate(
        """async (all) => {
          const model = await open(own.Transformer, "translator"), answers = [];
          for (const ids of all) {
            const greedy = [];
            for await (const { id } of own.write(model, ids, { most: 60 })) greedy.push(id);
            answers.push([greedy, await own.beam(model, ids, { size: 3, most: 60 })]);
          }
          return answers;
        }""",
        [translator.sources([text])[0].tolist() for text in texts],
    )
    limits = {"end_id": translator.model.config.end_id, "max_new_tokens": 60}
    for text, (first, hypotheses) in zip(texts, found, strict=True):
        assert [translator.tokenizer.decode(first)] == translator.translate([text])
        begin = translator.prompt(), translator.model.start(translator.sources([text]))
        [expected] = beam(translator.model.step, *begin, beam_size=3, num_best=3, **limits)
        assert [h["ids"] for h in hypotheses] == [h.token_ids for h in expected]
        scores = torch.tensor([h["score"] for h in hypotheses])
        assert_close(scores, torch.tensor([h.score for h in expected]), **PARITY)


def palm_difference(page, name: str, model: PaLM, token_ids: list[int]) -> float:
    """La mayor diferencia con torch en los logits, leyendo de uno en uno y recortando la caché."""
    found = page.evaluate(
        """async ([name, ids]) => {
          const model = await open(own.PaLM, name), { last, state } = model.start(ids);
          const { logits } = model.step(last, state), half = Math.floor(ids.length / 2);
          const again = model.step(ids[half], own.cut(state, half));
          return [again.logits, logits].map((each) => [...each]);
        }""",
        [name, token_ids],
    )
    with torch.no_grad():
        logits, _ = model(torch.tensor([token_ids]))
    return apart(found, logits[0, [len(token_ids) // 2, -1]])


@pytest.fixture(scope="module")
def palm():
    folder = MODELS / "palm"
    return load_palm(folder), ByteBPE.load(folder / "tokenizer.json")


def test_the_stored_palm_answers_as_torch(page, palm, record_property):
    model, bpe = palm
    recipes = [writing.text_of(recipe) for recipe in generate_recipes(12)]
    asked = [bpe.encode(text)[: 2 + 14 * i] for i, text in enumerate(recipes)]
    most = max(palm_difference(page, "palm", model, token_ids) for token_ids in asked)
    record_property("diferencia", most)


def test_every_variant_of_palm_answers_as_torch(page, extra, tmp_path):
    torch.manual_seed(0)
    kinds = ((True, False), ("half", "interleaved"), (1, 2, 4))
    for i, (parallel, layout, pairs) in enumerate(product(*kinds)):
        config = PaLMConfig(
            40,
            d_model=16,
            num_heads=4,
            num_layers=2,
            d_ff=(None, 24)[i % 2],
            d_head=(None, 6)[i // 2 % 2],
            num_kv_heads=pairs,
            parallel=parallel,
            layout=layout,
            positions=("rotary", None)[i == 5],
            base=(10_000.0, 100.0)[i % 2],
            tied=i % 3 > 0,
            logits_scale=(None, 0.5)[i % 2],
            norm=("layer", "rms")[i // 3 % 2],
            eps=(None, 1e-3)[i % 2],
        )
        extra[f"palm{i}"] = tmp_path / str(i)
        save_palm(PaLM(config), extra[f"palm{i}"])
        palm_difference(page, f"palm{i}", load_palm(extra[f"palm{i}"]), [5, 6, 7, 29, 2, 8, 9])


def test_palm_writes_what_the_library_writes(page, palm):
    model, bpe = palm
    titles = ["Crema de yuca", "Sopa de dragón", ""]
    found = page.evaluate(
        """async (all) => {
          const model = await open(own.PaLM, "palm"), answers = [];
          const bpe = new own.ByteBPE(await folder("palm").json("tokenizer.json"));
          for (const title of all) {
            const ids = bpe.encode(`${title}\n`), found = [];
            const start = { ...model.start(ids), end: bpe.special["</s>"] };
            for await (const { id } of own.proceed(model, start, { most: 300 })) found.push(id);
            answers.push(found);
          }
          return answers;
        }""",
        titles,
    )
    limits = {"end_id": bpe.special("</s>"), "max_new_tokens": 300}
    for title, token_ids in zip(titles, found, strict=True):
        prompt = torch.tensor([bpe.encode(f"{title}\n")])
        assert token_ids == greedy(model.step, prompt, **limits).token_ids[0].tolist()


def universal_difference(page, name: str, model: searching.Searcher, boxes: torch.Tensor) -> float:
    """La mayor diferencia con torch en los logits, los restos y los pesos; los pasos, iguales."""
    most = 0.0
    for row in boxes:
        logits, rests, steps, weights = page.evaluate(
            """async ([name, ids]) => {
              const model = await open(own.Universal, name), { logits, places, trace } = model.read(ids);
              return [logits.map((each) => [...each]), places.map(({ remainder }) => remainder),
                places.map(({ steps }) => steps), trace.map((rows) => rows.map(({ weights }) => weights.map((A) => [...A])))];
            }""",  # noqa: E501
            [name, row.tolist()],
        )
        with torch.no_grad(), attention_maps(model) as A:
            output = model(row[None])
        assert steps == output.encoded.n_updates[0].tolist()
        given = torch.stack(A)[: len(weights), 0].transpose(1, 2)
        expected = ((logits, output.logits[0]), (rests, output.encoded.remainders[0]))
        most = max(most, *(apart(*pair) for pair in (*expected, (weights, given))))
    return most


def test_the_stored_universal_transformer_answers_as_torch(page, record_property):
    model = searching.read_searcher(MODELS / "universal_transformer")
    boxes, _ = treasure_hunt(40, 10, generator=torch.Generator().manual_seed(5))
    round_and_round = FIRST_BOX + torch.arange(10).roll(-1)
    boxes = torch.cat([boxes, round_and_round[None]])
    record_property("diferencia", universal_difference(page, "universal_transformer", model, boxes))


def test_every_variant_of_the_universal_transformer_answers_as_torch(page, extra, tmp_path):
    torch.manual_seed(0)
    boxes, _ = treasure_hunt(3, 6, generator=torch.Generator().manual_seed(0))
    for placement, steps in product(("post", "pre", "sandwich"), (1, 4)):
        sizes = {"d_model": 16, "d_ff": 24, "max_length": 6, "max_steps": steps}
        name = f"universal_{placement}{steps}"
        extra[name] = tmp_path / name
        save_model(
            searching.Searcher(searching.SearcherConfig(**sizes, placement=placement)), extra[name]
        )
        universal_difference(page, name, searching.read_searcher(extra[name]), boxes)


def classifier_difference(page, name: str, model: TextClassifier, rows: list[list[int]]) -> float:
    """La mayor diferencia con torch en las puntuaciones de unos textos."""
    found = page.evaluate(
        """async ([name, rows]) => {
          const model = await open(own.Classifier, name);
          return rows.map((ids) => [...model.score(ids)]);
        }""",
        [name, rows],
    )
    with torch.no_grad():
        expected = torch.cat([model(torch.tensor([ids], dtype=torch.long)) for ids in rows])
    return apart(found, expected)


@pytest.fixture(scope="module")
def classifier():
    return classifying.read_classifier(MODELS / "text_classifier")


def test_the_stored_classifier_answers_as_torch(page, classifier, record_property):
    model, vocabulary = classifier
    opinions = generate_opinions(60, held_out=True)
    rows = [vocabulary.encode(opinion.text) for opinion in opinions] + [[], [1], [1, 1, 5]]
    record_property("diferencia", classifier_difference(page, "text_classifier", model, rows))


def test_every_variant_of_the_classifier_answers_as_torch(page, extra, tmp_path):
    torch.manual_seed(0)
    kinds = (("post", "pre", "sandwich"), ("max", "mean"), ("sinusoidal", "learned", None))
    for i, (placement, pooling, positions) in enumerate(product(*kinds)):
        config = TextClassifierConfig(
            30,
            d_model=16,
            num_layers=2,
            d_ff=24,
            max_length=12,
            placement=placement,
            pooling=pooling,
            positions=positions,
            norm=("layer", "rms")[i % 2],
            activation=("relu", "gelu")[i // 2 % 2],
        )
        extra[f"classifier{i}"] = tmp_path / str(i)
        save_model(TextClassifier(config), extra[f"classifier{i}"])
        stored = load_model(extra[f"classifier{i}"], TextClassifier, TextClassifierConfig)
        classifier_difference(page, f"classifier{i}", stored, [[5, 6, 7, 29, 2], [], [1]])


def read_by_segments(model: TransformerXL, token_ids: list[int], length: int, limit: int):
    """Los logits de un texto leído por segmentos, y los pesos de su último token."""
    logits, memory = [], model.start(limit)
    for part in torch.tensor([token_ids]).split(length, dim=1):
        with torch.no_grad(), attention_maps(model) as A:
            found, memory = model(part, memory)
        logits.append(found[0])
    return torch.cat(logits), torch.stack(A)[:, 0, :, -1]


def xl_difference(page, name: str, model, token_ids: list[int], length: int, limit: int) -> float:
    """La mayor diferencia con torch en los logits y en los pesos del último token."""
    found = page.evaluate(
        """async ([name, ids, length, limit]) => {
          const model = await open(own.TransformerXL, name), { logits, weights } = model.readAll(ids, length, limit);
          return [logits.map((each) => [...each]), weights.at(-1).map((block) => block.map((head) => [...head]))];
        }""",  # noqa: E501
        [name, token_ids, length, limit],
    )
    logits, weights = read_by_segments(model, token_ids, length, limit)
    seen = len(found[1][0][0])  # aquí, sin lo que la máscara oculta
    assert weights[..., :-seen].abs().sum() == 0
    return max(apart(found[0], logits), apart(found[1], weights[..., -seen:]))


@pytest.fixture(scope="module")
def reader():
    return remembering.read_reader(MODELS / "transformer_xl")


def test_the_stored_transformer_xl_answers_as_torch(page, reader, record_property):
    (model, vocabulary), most = reader, 0.0
    for text in (*xl_figures.SOUP.split("\n"), xl_figures.SOUP, xl_figures.SOUP * 2):
        token_ids = remembering.numbered(vocabulary, ["</s>", *soup_words(text)])
        for limit in (0, 8, 64):
            most = max(most, xl_difference(page, "transformer_xl", model, token_ids, 16, limit))
    record_property("diferencia", most)


def soup_words(text: str) -> list[str]:
    return [word for line in text.split("\n") for word in (*split_words(line), "\n")]


def test_every_variant_of_the_transformer_xl_answers_as_torch(page, extra, tmp_path):
    torch.manual_seed(0)
    variants = (
        {"placement": "post"},
        {"placement": "pre", "tie_biases": True},
        {"placement": "sandwich", "eps": 1e-3},
        {"same_length": True},
        {"clamp_length": 3},
        {"global_terms": False, "final_norm": True},
    )
    for i, changes in enumerate(variants):
        sizes = {"d_model": 16, "num_heads": 2, "num_layers": 2, "d_ff": 24, "memory_length": 5}
        model = TransformerXL(TransformerXLConfig(30, **sizes | changes))
        for parameter in model.parameters():  # los sesgos, que comienzan en cero, también cuentan
            torch.nn.init.normal_(parameter, std=0.3)
        extra[f"xl{i}"] = tmp_path / str(i)
        save_model(model, extra[f"xl{i}"])
        stored = load_model(extra[f"xl{i}"], TransformerXL, TransformerXLConfig)
        xl_difference(page, f"xl{i}", stored, [*range(5, 28)], 4, 5)


def test_it_shares_as_the_library_does(page):
    logits = torch.randn(4, 60, generator=torch.Generator().manual_seed(0)) * 2
    options = [(1.0, None, None), (0.5, 10, None), (2.0, None, 0.7), (1.3, 12, 0.6), (1.0, 1, 0.1)]
    for row, (temperature, top_k, top_p) in product(logits, options):
        found = page.evaluate(
            """([z, temperature, topK, topP]) => {
              const options = { temperature, ...(topK && { topK }), ...(topP && { topP }) };
              return [...own.sampling(new Float32Array(z), options)];
            }""",
            [row.tolist(), temperature, top_k, top_p],
        )
        shares = torch.zeros(60)
        for token_id, share in found:
            shares[token_id] = share
        assert_close(shares, sampling_distribution(row, temperature, top_k=top_k, top_p=top_p))
        ordered = [share for _, share in found]
        assert ordered == sorted(ordered, reverse=True)  # así los sortea `drawn`


def test_it_draws_what_the_number_says(page):
    found = page.evaluate(
        """() => {
          const shares = new Map([[7, 0.5], [3, 0.3], [9, 0.2]]), next = own.luck(5);
          const fixed = [0, 0.49, 0.5, 0.79, 0.8, 0.9999999].map((x) => own.drawn(shares, x));
          const many = Array.from({ length: 20000 }, () => own.drawn(shares, next()));
          return [fixed, [7, 3, 9].map((id) => many.filter((each) => each === id).length / 20000)];
        }"""
    )
    assert found[0] == [7, 7, 3, 3, 9, 9]
    assert found[1] == pytest.approx([0.5, 0.3, 0.2], abs=0.015)


# --- los laboratorios --------------------------------------------------------------------------


class ModelLaboratory:
    """Una página con un solo laboratorio, que baja su modelo."""

    def __init__(
        self, browser, name: str, model: str, size: str = "2.0 MB", before: str = "", **extra: Path
    ) -> None:
        self.page = browser.new_page()
        drawing = (ROOT / "book" / "_figures" / f"{name}.svg").read_text("utf-8")
        told = f'data-laboratory="{name}" data-model="{model}" data-version="0"'
        place = (
            f'<figure><div class="laboratory" {told} data-size="{size}">{drawing}</div></figure>'
        )
        script = f'<script>{before}</script><script src="{HOME}labs/laboratory.js"></script>'
        serve(self.page, f"{script}{place}", extra)

    def ready(self) -> "ModelLaboratory":
        self.page.locator(".lab-live").wait_for()
        self.settle("mira")
        return self

    def settle(self, words: str) -> str:
        """Espera a que diga esas palabras, y da todo lo que dice."""
        self.page.locator(".lab-said", has_text=words).wait_for()
        return self.page.locator(".lab-said").inner_text()

    def bars(self) -> dict[str, str]:
        rows = self.page.locator(".lab-bar").all()
        return dict(row.locator("span").all_inner_texts() for row in rows)

    def recipe(self) -> str:
        return "\n".join(self.page.locator(".lab-lines button").all_inner_texts())

    def weights(self, group: int) -> list[float]:
        numbers = self.page.locator(".lab-tokens").nth(group).locator("small").all_inner_texts()
        return [float(number) for number in numbers]

    def tokens(self, group: int) -> list[str]:
        groups = self.page.locator(".lab-tokens")
        return groups.nth(group).locator(".lab-token > span").all_inner_texts()


@pytest.fixture
def open_laboratory(chromium):
    opened = []

    def start(*arguments, **options) -> ModelLaboratory:
        opened.append(ModelLaboratory(chromium, *arguments, **options))
        return opened[-1]

    yield start
    for each in opened:
        each.page.close()


def test_each_step_of_the_translation_is_that_of_the_figure(open_laboratory):
    lab = open_laboratory("translator_steps", "translator").ready()
    shown, figure = lab.bars(), translator_figures
    assert {name: shown[name] for name in figure.THEM} == figure.THEM
    assert tuple(lab.tokens(1)) == figure.THEM_READ
    for head, weights in enumerate(figure.THEM_LOOKS):
        lab.page.get_by_label(f"{head + 1} →").check()
        assert lab.weights(1) == pytest.approx(weights, abs=1e-9)
    lab.page.get_by_role("combobox").select_option("1")
    assert "del bloque 1 mira" in lab.settle("bloque 1")


def test_another_candidate_is_followed_and_the_address_keeps_it(open_laboratory):
    lab = open_laboratory("translator_steps", "translator").ready()
    lab.page.get_by_role("button", name="cut 100 %").focus()
    lab.page.keyboard.press("Enter")
    lab.settle("«cut» (100 %)")
    lab.page.get_by_role("button", name="them 99.9 %").press("Enter")
    lab.page.locator(".lab-bar").nth(1).press("Enter")
    said = lab.settle("«it» (0.1 %)")
    assert said.startswith("«Wash the red bell peppers and cut it into strips.»")
    assert lab.page.evaluate("document.activeElement.textContent") == "it 0.1 %"
    lab.page.reload()
    assert lab.ready().settle("«it»") == said
    lab.page.get_by_role("button", name="Voraz").click()
    assert "cut them into strips" in lab.settle("cut them")


def test_the_beam_offers_three_and_any_can_be_followed(open_laboratory, translator):
    lab = open_laboratory("translator_steps", "translator").ready()
    lab.page.get_by_label("Tu oración").fill("Pela las papas.")
    [expected] = translator.translate(["Pela las papas."])
    lab.settle(f"«{expected}»")
    lab.page.get_by_role("button", name="Haz de 3").press("Enter")
    lab.settle("Las tres del haz")
    [first, second, _] = lab.page.locator(".lab-found button").all()
    assert first.inner_text().startswith(f"{expected} (")
    other = second.inner_text().rpartition(" (")[0]
    second.press("Enter")
    assert other != expected and lab.settle(f"«{other}»")


def test_greedy_and_beam_differ_in_the_messages_as_in_the_figure(open_laboratory):
    lab, figure = open_laboratory("translator_messages", "messages").ready(), translator_figures
    assert lab.tokens(1)[0] == "<es>" and lab.bars() == figure.AFTER_QUESTION
    _, second, _ = figure.BEAM_OF_THREE
    assert lab.settle("mira").startswith(f"«{second}»")
    lab.page.get_by_role("button", name="Haz de 3").press("Enter")
    lab.settle("Las tres del haz")
    offered = [f"{text} ({score})" for text, score in figure.BEAM_OF_THREE.items()]
    assert lab.page.locator(".lab-found button").all_inner_texts() == offered


def test_the_stored_messages_answer_as_torch(page, record_property):
    translator = translating.read_translator(MODELS / "messages")
    pair = "The selected files could not be deleted.", "No se pudieron eliminar."
    source, target = translator.example(*pair, to="<es>")
    apart = difference(page, "messages", translator.model, source, target[:-1])
    record_property("diferencia", apart)


def test_a_model_of_two_languages_is_told_to_which(open_laboratory, tmp_path):
    special = ("<pad>", "<s>", "</s>", "<en>", "<es>")
    bpe = ByteBPE.train(["Pela la papa.", "Peel the potato."], 280, special_tokens=special)
    ids = {f"{name}_id": i for i, name in enumerate(("pad", "start", "end"), bpe.special("<pad>"))}
    sizes = {"d_model": 16, "num_heads": 2, "num_layers": 1, "d_ff": 16, "max_length": 60}
    save_transformer(Transformer(TransformerConfig(bpe.vocab_size, **sizes, **ids)), tmp_path)
    bpe.save(tmp_path / "tokenizer.json")
    lab = open_laboratory("translator_steps", "both", both=tmp_path).ready()
    assert lab.tokens(1)[0] == "<en>" and lab.tokens(1)[-1] == "</s>"
    lab.page.get_by_label("al español").check()
    lab.page.locator(".lab-token", has_text="<es>").wait_for()
    lab.page.reload()
    assert lab.ready().tokens(1)[0] == "<es>"


def test_the_guesses_and_the_weights_are_those_of_the_figure(open_laboratory):
    lab, figure = open_laboratory("bert_guesses", "bert").ready(), bert_figures
    assert lab.bars() == figure.GUESSES and tuple(lab.tokens(0)) == figure.HOLE_READ
    for head, weights in enumerate(figure.HOLE_LOOKS):
        lab.page.get_by_label(f"{head + 1} →").check()
        assert lab.weights(0) == pytest.approx(weights, abs=1e-9)


def test_what_is_touched_is_hidden_and_guessed(open_laboratory, bert):
    lab, (model, pieces) = open_laboratory("bert_guesses", "bert").ready(), bert
    lab.page.get_by_role("button", name="cebolla").press("Space")
    assert lab.tokens(0).count("[MASK]") == 2
    ids, _ = pieces.encode_pair("Pica el ajo y la cebolla, y sofríela.")
    ids[5] = ids[6] = pieces.special("[MASK]")
    with torch.no_grad():
        shares = model(torch.tensor([ids])).tokens[0, 6].softmax(-1)
    best = shares.argmax().item()
    said = f"En el hueco, «{pieces.token(best)}» ({100 * shares[best]:.1f} %)."
    assert lab.settle("hueco").startswith(said)
    lab.page.reload()
    assert lab.ready().settle("hueco").startswith(said)
    lab.page.locator("[aria-pressed=true]").last.press("Space")
    lab.page.get_by_label("Tu oración").fill("Pica el ajo y la perejil, y sofríelo.")
    assert lab.settle("hueco").startswith("En el hueco, «el»")  # lo que pregunta el pie
    lab.page.locator("[aria-pressed=true]").press("Space")
    assert "Toca una palabra" in lab.settle("Toca") and not lab.bars()


SAMPLED = """expected => {
  const shown = [...document.querySelectorAll(".lab-found li")].map((li) => li.textContent);
  return shown.join() === expected.join();
}"""


def test_the_words_are_one_stop_and_the_arrows_go_through_them(open_laboratory):
    page = open_laboratory("bert_guesses", "bert").ready().page
    focused = "document.activeElement.firstElementChild.textContent"
    stops = page.locator(".lab-tokens button[tabindex='0']")
    assert stops.count() == 1 and stops.inner_text().startswith("[MASK]")
    stops.focus()
    for key, word in (("ArrowRight", "cebolla"), ("ArrowLeft", "[MASK]"), ("Home", "Pica")):
        page.keyboard.press(key)
        assert page.evaluate(focused).lower() == word.lower()
    page.keyboard.press("ArrowLeft")  # delante no hay nada que tocar
    assert page.evaluate(focused).lower() == "pica" and stops.count() == 1
    page.keyboard.press("End")
    page.get_by_role("textbox").fill("Pica el ajo.")
    page.locator(".lab-tokens button").nth(6).wait_for(state="detached")
    assert stops.count() == 1, "el que era la parada ya no está"


def test_the_samples_are_those_of_the_figure(open_laboratory):
    lab = open_laboratory("decoding_samples", "translator")
    lab.settle("De 5 sorteos")
    for (temperature, top_k), (shares, written) in decoding_figures.SAMPLED.items():
        lab.page.get_by_role("slider", name="temperatura").fill(str(temperature))
        lab.page.get_by_role("slider", name="top-k").fill(str(top_k or 50))
        lab.page.wait_for_function(SAMPLED, arg=[*written])
        shown = {name: told.partition("→ ")[2] for name, told in lab.bars().items()}
        assert {name: shown[name] for name in shares} == shares
    assert lab.settle("candidatos").startswith("Donde más duda quedan 3 candidatos.")
    lab.page.get_by_role("button", name="Otra suerte").press("Enter")
    lab.page.wait_for_function(f"expected => !({SAMPLED})(expected)", arg=[*written])
    seen = lab.page.locator(".lab-found li").all_inner_texts()
    lab.page.reload()
    lab.page.wait_for_function(SAMPLED, arg=seen)


def test_the_recipe_is_that_of_the_figure(open_laboratory, palm):
    lab, figure = open_laboratory("palm_recipe", "palm"), palm_figures
    said = lab.settle("La caché")
    assert lab.recipe() == figure.YUCA and lab.bars() == figure.HERBS
    assert said.startswith("Usa todo lo que anuncia. La lista y los pasos nombran lo del título")
    model, bpe = palm
    _, cache = model(torch.tensor([bpe.encode(f"Crema de yuca\n{figure.YUCA}")]))
    numbers = format_number(sum(layer.K.numel() + layer.V.numel() for layer in cache.layers))
    assert f"La caché: {cache.length} posiciones y {numbers} números;" in said
    assert lab.tokens(0) == ["-", "Medio", "manojo", "de", "perejil", "↵"]


def test_another_herb_is_used_and_the_address_keeps_it(open_laboratory):
    lab = open_laboratory("palm_recipe", "palm")
    lab.settle("La caché")
    lab.page.get_by_role("button", name="menta").press("Enter")
    lab.page.get_by_role("button", name="cubre la crema con la menta").wait_for()
    seen = lab.settle("La caché"), lab.recipe()
    assert seen[1] != palm_figures.YUCA and "perejil" not in seen[1]
    lab.page.reload()
    assert (lab.settle("La caché"), lab.recipe()) == seen
    lab.page.get_by_role("button", name="Pela la yuca").press("Enter")
    assert lab.tokens(0)[:3] == ["1", ".", "Pela"]
    lab.page.get_by_role("button", name="Sopa de dragón").press("Enter")
    assert lab.settle("falta").startswith("Anuncia y no usa: ")


def test_the_titles_it_offers_were_never_read(open_laboratory):
    lab = open_laboratory("palm_recipe", "palm")
    lab.settle("La caché")
    *apart, invented = lab.page.locator("fieldset button").all_inner_texts()
    read, measured = ({r.title for r in part} for part in split_recipes(generate_recipes(8000)))
    assert len(apart) == 3 and set(apart) <= measured - read and invented not in read | measured


SLOWLY = "const own = setTimeout; setTimeout = (job, wait = 15) => own(job, wait);"


def test_writing_stops_and_goes_on_where_it_was(open_laboratory):
    lab = open_laboratory("palm_recipe", "palm", "2.8 MB", SLOWLY)
    lab.settle("Escribiendo…")
    lab.page.get_by_role("button", name="Parar").press("Enter")
    lab.settle("Sin acabar")
    assert palm_figures.YUCA.startswith(lab.recipe()) and lab.recipe() != palm_figures.YUCA
    lab.page.get_by_role("button", name="Seguir").press("Enter")
    lab.settle("Usa todo")
    assert lab.recipe() == palm_figures.YUCA


def test_with_chance_the_luck_decides_and_is_kept(open_laboratory):
    lab = open_laboratory("palm_recipe", "palm")
    lab.page.get_by_role("slider", name="temperatura").fill("1")
    lab.page.get_by_role("slider", name="top-p").fill("0.9")
    # Las barras dicen también el reparto con que se sortea.
    lab.page.locator(".lab-bar", has_text="→").first.wait_for()
    first = lab.recipe()
    lab.page.get_by_role("button", name="Otra suerte").press("Enter")
    lab.page.get_by_role("button", name="Desde el principio").wait_for()
    second = lab.recipe()
    assert len({first, second, palm_figures.YUCA}) == 3
    lab.page.reload()
    lab.settle("La caché")
    assert lab.recipe() == second


def test_what_a_recipe_keeps_is_what_is_measured(page):
    recipes = generate_recipes(200)
    texts = [writing.text_of(recipe) for recipe in recipes]
    broken = [text.replace("\n1. ", "\n- 3 unicornios\n1. ", 1) for text in texts]
    found = page.evaluate(
        """async ([home, all]) => {
          const { keeps } = await import(`${home}labs/palm_recipe.js`);
          return all.map(([title, text]) => keeps(title, text));
        }""",
        [HOME, [(r.title, text) for r, text in zip(recipes * 2, texts + broken, strict=True)]],
    )
    assert all(each["kept"] for each in found)
    assert [each["forgotten"] for each in found] == [[]] * 200 + [["unicornios"]] * 200


def shown_pushes(lab) -> list[float]:
    return [
        float(x.replace("−", "-")) for x in lab.page.locator(".lab-pushing small").all_inner_texts()
    ]


def test_each_word_pushes_what_the_library_says_and_the_figure_draws(open_laboratory, classifier):
    lab, figure = open_laboratory("classifier_words", "text_classifier"), text_classifier_figures
    lab.settle("Dice")
    for text, (verdict, pushes) in figure.PUSHES.items():
        lab.page.get_by_role("button", name=text).press("Enter")
        lab.settle(f"Dice «{verdict}»")
        _, expected = classifying.pushes(*classifier, text)
        assert shown_pushes(lab) == [*pushes]
        assert shown_pushes(lab) == pytest.approx([100 * push for push in expected], abs=0.51)
    lab.page.get_by_label("en puntuación").check()
    scores = shown_pushes(lab)
    assert scores[3] == max(scores) > 1 and len(set(scores)) > 5


def test_a_word_is_taken_out_and_the_address_keeps_it(open_laboratory, classifier):
    lab = open_laboratory("classifier_words", "text_classifier")
    assert "sin ella diría «positiva»" in lab.settle("«pero»")
    lab.page.locator(".lab-pushing", has_text="pero").press("Enter")
    said = lab.settle("Dice «positiva»")
    share, _ = classifying.pushes(*classifier, "No me pareció nada aburrido, quedó soso.")
    assert said.startswith(f"Dice «positiva» ({100 * share:.1f} %)")
    lab.page.reload()
    assert lab.settle("Dice «positiva»") == said
    assert lab.page.locator(".lab-pushing[aria-pressed=true]").inner_text() == "pero quitada"
    lab.page.get_by_label("Tu opinión").fill("La sopa quedó riquísima.")
    assert lab.settle("No conoce").endswith("No conoce «riquísima».")
    assert not lab.page.locator(".lab-pushing[aria-pressed=true]").count()


def test_the_five_tasks_are_those_of_the_figure(open_laboratory):
    lab = open_laboratory("five_tasks", "five_tasks")
    for task, _, answer, share in tuning_figures.FIVE:
        lab.page.get_by_label(task.lower(), exact=True).check()
        if task == "Palabras":
            lab.page.locator(".lab-tokens button").nth(2).press("Enter")
        lab.settle(f"({share})")
        assert lab.bars()[answer.partition(": ")[2] or answer] == share
    assert lab.page.locator(".lab-tokens button small").all_inner_texts()[:3] == [
        "DET",
        "NOUN",
        "PRON",
    ]


def test_each_task_keeps_its_text_and_the_address_too(open_laboratory, tuned):
    lab = open_laboratory("five_tasks", "five_tasks")
    lab.settle("Dice")
    lab.page.get_by_label("Tu opinión").fill("Quedó exquisita la sopa.")
    share = tuned_shares(*tuned, "sentence", "Quedó exquisita la sopa.", "")[1].item()
    said = lab.settle(f"({100 * max(share, 1 - share):.1f} %)")
    lab.page.reload()
    assert lab.settle("Dice") == said
    lab.page.get_by_label("pregunta", exact=True).check()
    lab.settle("Responde")
    lab.page.locator(".lab-tokens button", has_text="leche").first.press("Enter")
    marked = lab.settle("Lo marcado, «leche")
    lab.page.reload()
    assert lab.settle("Lo marcado") == marked
    lab.page.get_by_label("Tu pregunta").fill("¿Cuánta 𐀀 lleva?")
    assert lab.settle("No conoce").endswith("No conoce «𐀀».")
    lab.page.get_by_label("opciones", exact=True).check()
    lab.page.get_by_label("Los pasos que podrían").fill("Uno solo.")
    assert lab.settle("al menos") == "Escribe al menos dos pasos, uno por renglón."


def expected_mint(reader, limit: int, listed: str = "menta") -> torch.Tensor:
    """Lo que la biblioteca espera en la última «menta», según lo que dice la lista."""
    words = ["</s>", *soup_words(xl_figures.SOUP)]
    words = words[: len(words) - 1 - words[::-1].index("menta")]
    swapped = [listed if word == "menta" else word for word in words]
    model, vocabulary = reader
    logits, _ = read_by_segments(model, remembering.numbered(vocabulary, swapped), 16, limit)
    return logits[-1].softmax(-1)


def test_what_it_expects_is_that_of_the_figure_and_of_the_library(open_laboratory, reader):
    lab, figure = open_laboratory("xl_memory", "transformer_xl"), xl_figures
    assert f"mira sobre todo a «menta», {figure.BACK} palabras atrás" in lab.settle("Con memoria")
    assert lab.page.locator("textarea").input_value() == figure.SOUP
    for limit, guesses in zip((64, 0), figure.EXPECTED.values(), strict=True):
        lab.page.get_by_role("slider").fill(str(limit))
        lab.settle(f"Con memoria de {limit}" if limit else "Sin memoria")
        assert guesses.items() <= lab.bars().items()
        expected = expected_mint(reader, limit)
        for word, share in guesses.items():
            number = expected[reader[1].words.index(word)].item()
            assert float(share.split()[0]) == pytest.approx(100 * number, abs=0.06)


def test_another_herb_in_the_list_is_expected_and_the_address_keeps_it(open_laboratory, reader):
    lab = open_laboratory("xl_memory", "transformer_xl")
    lab.settle("Con memoria")
    text = lab.page.get_by_label("Tu sopa")
    text.fill(xl_figures.SOUP.replace("menta, nachos", "albahaca, nachos"))
    text.blur()
    lab.page.locator(".lab-bar", has_text="albahaca 9").wait_for()
    expected = expected_mint(reader, 64, "albahaca")
    herb = reader[1].words[expected.argmax()]
    assert herb == "albahaca" and next(iter(lab.bars())) == herb
    lab.page.locator(".lab-segments button", has_text="nachos").last.press("Enter")
    said = lab.settle("esperaba «nachos»")
    lab.page.reload()
    assert lab.settle("esperaba «nachos»") == said
    lab.page.get_by_role("button", name="Sopa de remolacha").press("Enter")
    assert "esperaba «cilantro» con 99.7 %; sin ella, con 6.2 %" in lab.settle("«cilantro»")
    text.fill("Sopa de dragón\nDragón")
    assert lab.settle("No conoce").endswith("No conoce «dragón».")


@pytest.fixture(scope="module")
def searcher():
    return searching.read_searcher(MODELS / "universal_transformer")


def token_of(said: str) -> int:
    """Lo que dice una casilla del dibujo, en el número que lee el modelo."""
    return FIRST_BOX + int(said[1:]) if said.startswith("→") else 1 + int(said)


@torch.no_grad()
def hunted(searcher, said) -> tuple[list[int], list[int]]:
    """Las cifras que contesta la biblioteca, y cuántos pasos da en cada casilla."""
    output = searcher(torch.tensor([[token_of(each) for each in said]]))
    return (output.logits.argmax(-1) - 1)[0].tolist(), output.encoded.n_updates[0].tolist()


def shown_hunt(lab) -> tuple[list[int], list[int]]:
    chips = lab.page.locator(".lab-boxes .lab-token")
    numbers = [chips.locator("small").all_inner_texts(), chips.locator("span").all_inner_texts()]
    steps, answers = ([int(re.search(r"\d+", text)[0]) for text in texts] for texts in numbers)
    return answers, steps


def test_the_hunt_is_that_of_the_figure_and_of_the_library(open_laboratory, searcher):
    lab, figure = open_laboratory("act_treasure", "universal_transformer"), universal_figures
    said = lab.settle("Desde la casilla 8")
    assert shown_hunt(lab) == hunted(searcher, figure.BOXES) == ([*figure.ANSWERS], [*figure.STEPS])
    labels, hops = follow(torch.tensor([[token_of(each) for each in figure.BOXES]]))
    assert (labels - 1)[0].tolist() == [*figure.ANSWERS] and hops[0, 8] == 5
    assert said.startswith("Desde la casilla 8 se llega a «8» en 5 saltos; el modelo da 6 pasos")
    assert len(lab.page.locator(".lab-bar").all()) == 6


def test_another_box_says_something_else_and_the_address_keeps_it(open_laboratory, searcher):
    lab = open_laboratory("act_treasure", "universal_transformer")
    lab.settle("Desde la casilla 8")
    lab.page.get_by_label("Qué dice la casilla 9").select_option("→6")
    said = [*universal_figures.BOXES[:9], "→ 6"]
    assert "se llega a «5» en 8 saltos" in lab.settle("8 saltos")
    assert shown_hunt(lab) == hunted(searcher, said)
    lab.page.locator(".lab-boxes .lab-token").nth(5).press("Enter")
    told = lab.settle("Desde la casilla 5 se llega a «2» en 0 saltos")
    lab.page.reload()
    assert lab.settle("Desde la casilla 5") == told and shown_hunt(lab) == hunted(searcher, said)
    lab.page.get_by_role("button", name="Un círculo").press("Enter")
    assert "no hay respuesta" in lab.settle("vueltas") and "acierta 7 de 7" in lab.settle("7 de 7")


def test_without_its_model_the_drawing_stays_and_says_why(open_laboratory):
    lab = open_laboratory("bert_guesses", "no_such_model")
    assert "No se pudo bajar el modelo" in lab.settle("No se pudo")
    assert lab.page.locator("svg").is_visible() and not lab.page.locator(".lab-live").count()


SAVES = 'Object.defineProperty(navigator, "connection", { value: { saveData: true } });'


@pytest.mark.parametrize(("before", "size"), [(SAVES, "1.2 MB"), ("", "8.0 MB")])
def test_who_saves_data_or_would_get_much_decides(open_laboratory, before, size):
    lab = open_laboratory("bert_guesses", "bert", size, before)
    button = lab.page.get_by_role("button", name=f"Pruébalo aquí ({size})")
    button.wait_for()
    assert not lab.page.locator(".lab-live").count()
    button.press("Enter")
    lab.ready()
