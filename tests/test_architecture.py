"""La casa en orden: quién importa a quién, estilo y cuánto hay que leer."""

import ast
import importlib
import io
import pkgutil
import re
import subprocess
import sys
import tokenize
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest
import torch

import course_lib.pretrained
from course_lib import models
from course_lib._lazy import homes

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        [BIN / "lint-imports", "--no-cache"],
        [BIN / "ruff", "check"],
        [BIN / "ruff", "format", "--check"],
    ],
    ids=["imports", "lint", "format"],
)
def test_static_checks(command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


OFFERING = (
    "",
    ".data",
    ".decoding",
    ".fast",
    ".layers",
    ".models",
    ".plotting",
    ".models.bert",
    ".pretrained",
    ".primitives",
    ".primitives.positions",
    ".tokenization",
    ".training",
)


def python(code):
    """Lo que escribe ese código, en un proceso nuevo."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_a_package_loads_neither_torch_nor_anything_else():
    packages = [f"course_lib{name}" for name in OFFERING]
    code = f"import sys; old = set(sys.modules); import {', '.join(packages)}"
    loaded = set(python(f"{code}; print(*set(sys.modules) - old)"))
    ours = {name for name in loaded if name.split(".")[0] not in sys.stdlib_module_names}
    assert ours == {*packages, "course_lib._lazy"}


@pytest.mark.parametrize("name", OFFERING)
def test_a_package_offers_its_names(name):
    """Lo ofrecido existe, cada nombre está en un solo lugar y gana al módulo que se llame igual."""
    package = importlib.import_module(f"course_lib{name}")
    for module in pkgutil.iter_modules(package.__path__):
        if name and not module.name.startswith("_"):
            importlib.import_module(f"{package.__name__}.{module.name}")
    for each in package.__all__:
        assert not isinstance(getattr(package, each), ModuleType), f"{each} es un módulo"
        assert each in dir(package)
    with pytest.raises(AttributeError, match="no_existe"):
        _ = package.no_existe


def test_inside_the_library_a_name_is_imported_from_its_module():
    """De qué depende un cuaderno se sabe por los módulos importados, no por sus paquetes."""
    offered = {n: home for name in OFFERING for n, home in homes(f"course_lib{name}").items()}
    packages = {f"course_lib{name}" for name in OFFERING}
    for path in sorted((ROOT / "course_lib").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in packages:
                lazy = [alias.name for alias in node.names if alias.name in offered]
                assert not lazy, f"{path}: {lazy} se importa de {node.module}"


def test_no_two_public_things_share_a_name():
    """Fuera de `cli`, cuyas órdenes se llaman como lo que hacen, y de lo que se lanza con `-m`.

    Tampoco en `one_page`, que repite a propósito los modelos para que se puedan copiar.
    """
    found = {}
    for path in sorted((ROOT / "course_lib").rglob("*.py")):
        inside = path.relative_to(ROOT / "course_lib")
        if inside.parts[0] in {"cli", "one_page"} or inside.stem.startswith("_"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_":
                found.setdefault(node.name, []).append(inside.as_posix())
    shared = {name: homes for name, homes in found.items() if len(homes) > 1}
    assert shared.keys() <= {"main"}, shared


def test_the_names_are_those_people_write():
    from course_lib import check
    from course_lib.models import PaLM
    from course_lib.primitives import attention
    from course_lib.primitives.attention import attention as from_its_module

    assert attention is from_its_module and callable(check) and PaLM.__name__ == "PaLM"


def test_the_documents_link_to_what_exists():
    for document in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert (ROOT / target).exists(), f"{document} enlaza {target}, que no existe"


def test_contributing_names_only_what_exists():
    """Cada archivo o carpeta que nombra existe; los que tienen TEMA son de cualquier tema."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    files = tracked.stdout.split() or [p.as_posix() for p in ROOT.rglob("*")]
    named = [n for n in re.findall(r"`([\w./-]+(?:/|\.\w{2,5}))`", text) if "TEMA" not in n]
    assert len(named) > 40
    for name in named:
        inside = re.compile(rf"(^|/){re.escape(name)}{'' if name.endswith('/') else '$'}")
        assert any(map(inside.search, files)), f"CONTRIBUTING nombra {name}, que no existe"


PUBLIC = (
    "primitives",
    "layers",
    "models",
    "fast",
    "training",
    "tokenization",
    "data",
    "pretrained",
)


def test_the_pages_of_the_library_list_every_module():
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("api*.md")]
    listed = set(re.findall(r"automodule:: (\S+)", "".join(pages)))
    package = ROOT / "course_lib"
    files = chain(package.glob("*.py"), *((package / name).glob("*.py") for name in PUBLIC))
    names = {path.relative_to(ROOT).with_suffix("").as_posix() for path in files}
    public = {name.replace("/", ".") for name in names if "/_" not in name}
    assert public - listed <= INSIDE


def test_every_loader_is_offered_by_its_package():
    """La página lista `course_lib.pretrained`: lo que el paquete no ofrece, no se ve en ella."""
    package = ROOT / "course_lib" / "pretrained"
    public = r"^def ((?:load|save)_\w+)"
    offered = [re.findall(public, f.read_text(), re.M) for f in package.glob("*.py")]
    assert sorted(chain(*offered)) == sorted(course_lib.pretrained.__all__)


@pytest.mark.parametrize("name", ["decoding", "plotting"])
def test_a_package_on_the_page_offers_all_that_its_modules_define(name):
    """La página lista el paquete: lo que este no ofrece, no se ve en ella."""
    public = r"^(?:def|class) ([A-Za-z]\w*)"
    files = (ROOT / "course_lib" / name).glob("[a-z]*.py")
    defined = set(chain(*(re.findall(public, f.read_text("utf-8"), re.M) for f in files)))
    offered = set(importlib.import_module(f"course_lib.{name}").__all__)
    assert defined - offered <= {"themed", "drawn"}, "ofrécelo en `__init__.py`"


# Por dentro: la orden `course` y lo que lee y escribe, y lo que su paquete ya ofrece.
INSIDE = {
    "course_lib.course_settings",
    "course_lib.files",
    "course_lib.scales",
} | {
    f"course_lib.pretrained.{name}"
    for name in ("bert", "elsewhere", "saved", "torch_modules", "transformer_xl")
}


# Lo que se lee: los archivos de un modelo, y cuánto mide y qué da cada función

LIBRARY = ROOT / "course_lib"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITION = (ast.ClassDef, *FUNCTION)
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
SIZES = {"d_model": 12, "num_heads": 2, "d_ff": 20}
SMALL = {
    "Transformer": ("TransformerConfig", {"source_vocab": 20, "num_layers": 2}),
    "UniversalTransformer": ("UniversalTransformerConfig", {"source_vocab": 20}),
    "BertForPreTraining": ("BertConfig", {"vocab_size": 20, "num_layers": 2}),
    "TransformerXL": ("TransformerXLConfig", {"vocab_size": 20, "num_layers": 2}),
    "PaLM": ("PaLMConfig", {"vocab_size": 20, "num_layers": 2}),
}


def code_of(path):
    """El árbol de un módulo y sus renglones de código: ni comentarios ni descripciones."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *DEFINITION)) and ast.get_docstring(node):
            lines -= lines_of(node.body[0])
    return tree, lines


def lines_of(node):
    first = min(each.lineno for each in [node, *getattr(node, "decorator_list", [])])
    return set(range(first, node.end_lineno + 1))


def executed(call):
    """Por cada archivo de la biblioteca que se ejecuta, dónde empieza cada función que se llama."""
    found = {}

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(LIBRARY):
            found.setdefault(path, set()).add(frame.f_code.co_firstlineno)

    before = sys.gettrace()
    sys.settrace(note)
    try:
        call()
    finally:
        sys.settrace(before)
    return found


@pytest.mark.parametrize("name", SMALL)
def test_a_model_is_read_in_ten_files(name):
    """De los identificadores a los logits: las clases y funciones que hay que leer, enteras."""
    (config, sizes), Model = SMALL[name], getattr(models, name)
    config = getattr(models, config)(**SIZES, **sizes)
    ids = torch.tensor([[5, 6, 7]])
    both = [ids] * (2 if hasattr(config, "source_vocab") else 1)
    starts = executed(lambda: Model(config)(*both))
    assert any(path.parent.name == "primitives" for path in starts), "no se siguió la ejecución"
    read = 0
    for path, called in starts.items():
        tree, code = code_of(path)
        parts = [
            lines_of(node) for node in tree.body if isinstance(node, (ast.ClassDef, *FUNCTION))
        ]
        read += sum(len(part & code) for part in parts if part & called)
    assert len(starts) <= 10, sorted(str(path.relative_to(LIBRARY)) for path in starts)
    assert read <= 700, f"son {read} renglones"


def test_no_function_is_longer_than_forty_lines():
    for path in sorted(LIBRARY.rglob("*.py")):
        tree, code = code_of(path)
        for node in ast.walk(tree):
            if isinstance(node, FUNCTION):
                read = len(set(range(node.lineno, node.end_lineno + 1)) & code)
                assert read <= 40, f"{path.relative_to(ROOT)}: {node.name} tiene {read}"


def public_functions(node):
    """Las funciones y los métodos que no empiezan por `_`, sin lo que hay dentro de ellos."""
    for child in node.body:
        if isinstance(child, DEFINITION) and not child.name.startswith("_"):
            yield from public_functions(child) if isinstance(child, ast.ClassDef) else [child]


def test_no_public_function_gives_one_thing_or_another():
    """Quien llama no ha de preguntar qué le dieron; sí, con `X | None`, si lo hay."""
    trees = {path: code_of(path)[0] for path in sorted(LIBRARY.rglob("*.py"))}
    assigned = [n for tree in trees.values() for n in tree.body if isinstance(n, ast.Assign)]
    alias = {n.targets[0].id: n.value for n in assigned if isinstance(n.targets[0], ast.Name)}

    def gives_either(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "|" in node.value:
            node = ast.parse(node.value, mode="eval")
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(alias.get(each.id), ast.BinOp):
                each = alias[each.id]
            if isinstance(each, ast.BinOp) and ast.unparse(each.right) != "None":
                return True
        return False

    for path, tree in trees.items():
        if path.name.startswith("_"):
            continue
        for node in public_functions(tree):
            assert node.returns is None or not gives_either(node.returns), (
                f"{path.relative_to(ROOT)}: {node.name} da {ast.unparse(node.returns)}"
            )
