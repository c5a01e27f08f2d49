"""Un ejercicio es un archivo, `solutions/TEMA/NOMBRE.md`: aquí se lee, y se dice qué tiene mal.

    ---
    puntos: 1             # y, si hace falta: gradiente, tolerancia, biblioteca, prohibido,
    gradiente: true       # partes, entradas_pueden_cambiar, respuesta,
                          # seccion (la que lo explica: attention#sec-scores),
                          # varia (las constantes que cambian: `variation`)
    ---

    # El arg max suave

    Enunciado, pistas (`<details>`) y celdas (```{code-cell}```), como en un capítulo; dentro de una
    pista sobran las líneas en blanco. Una celda tiene la solución, entre `### BEGIN SOLUTION` y
    `### END SOLUTION`; la que la comprueba se hace sola, justo después.

    ## Casos

    Un bloque de Python con `def cases(rng)`, que da una lista de tuplas: las entradas de cada caso.
    Sin importarlos, hay `math`, `torch`, `F` y lo de `course_lib.judging.drawing`. Si al
    estudiante no se le llama con el caso tal cual, el bloque define `call(student, *entradas)`. Las
    preguntas, cuya respuesta es un dato, no llevan esta sección.

    ## Errores

    - `dim=-1` → `dim=0` normalizas por el primer eje.
    - **con_nombre** `a + b` → `a - b`; `c` → `nada` dos cambios a la vez; `nada` borra.
      se detiene: ValueError
      no con: otro_nombre
    - ```
      todo lo que va entre los marcadores, si el error es otro algoritmo
      ```
      la pista.
    - = `{"A": 0}` el valor equivocado de una pregunta.

    ## Otras maneras

    Bloques de Python: la función entera, o lo que va entre los marcadores, escrita de otra manera.

Un trozo se busca entre los marcadores y tiene que estar una sola vez. Los de varias líneas van en
dos bloques con `→` en medio; su sangría es la de la solución.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib._extras import extra
from course_lib.notebooks import variation
from course_lib.notebooks.fingerprint import parse, parse_cell
from course_lib.notebooks.source import replace_solutions

with extra("author"):
    import yaml
    from markdown_it import MarkdownIt

SECTIONS = ("Casos", "Errores", "Otras maneras")
FIELDS = {
    "puntos": int,
    "gradiente": bool,
    "tolerancia": float,
    "biblioteca": str,
    "prohibido": list,
    "partes": list,
    "entradas_pueden_cambiar": bool,
    "respuesta": str,
    "seccion": str,
    "varia": dict,
}
PART_FIELDS = {"nombre": str, "puntos": int, "propiedad": str, "elemento": object, "casos": str}
PROPERTIES = {"valores": "values", "dtype": "dtype", "entradas": "inputs", "gradiente": "gradient"}
_KINDS = {
    int: "un número entero",
    bool: "true o false",
    float: "un número",
    str: "un texto",
    list: "una lista",
    dict: "una tabla de constantes, cada una con la lista de sus valores",
}


_MARKER_LIKE = re.compile(r"^\s*#+\s*(BEGIN|END)\s+SOL", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, order=True)
class SourceFault:
    """Algo que está mal en una fuente: el archivo, desde `solutions/`, la línea y qué es."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"solutions/{self.file}, línea {self.line}: {self.text}"


@dataclass
class Cell:
    """Una celda de la fuente y la línea en que empieza."""

    kind: str
    text: str
    line: int
    tags: tuple[str, ...] = ()

    @property
    def is_marked(self) -> bool:
        """Si tiene algo que parece un marcador de la solución."""
        return self.kind == "code" and bool(_MARKER_LIKE.search(self.text))


@dataclass
class Mistake:
    """Un error frecuente como se escribió; `edits`, `body` o `value` dicen en qué consiste."""

    line: int
    hint: str
    name: str = ""
    edits: list[tuple[str, str]] = field(default_factory=list)
    body: str | None = None
    value: str | None = None
    raises: str | None = None
    apart: tuple[str, ...] = ()


@dataclass
class ExerciseSource:
    """Un ejercicio leído de su archivo.

    Atributos:
        name: el del archivo.
        file: su ruta desde `solutions/`.
        options: la cabecera.
        title, cells: lo que se ve en el cuaderno.
        cases, mistakes, alternatives: lo que sirve para juzgar; los bloques, con su línea.
        variants: el mismo, con las otras constantes, si varía.
        code, region: la celda de la solución sin marcadores, y qué trozo de ella va entre ellos.
    """

    name: str
    file: str
    text: str
    options: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    cells: list[Cell] = field(default_factory=list)
    cases: tuple[str, int] = ("", 1)
    mistakes: list[Mistake] = field(default_factory=list)
    alternatives: list[tuple[str, int]] = field(default_factory=list)
    code: str = ""
    region: tuple[int, int] = (0, 0)
    answer: str = ""
    variants: list[ExerciseSource] = field(default_factory=list)
    faults: list[SourceFault] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, variant: Callable[[int], int] = lambda count: 0) -> ExerciseSource:
        """Lee un archivo; lo que tenga mal queda en `faults`.

        Argumentos:
            path: el archivo.
            variant: de cuántas variaciones hay, cuál se lee.
        """
        made = cls(path.stem, f"{path.parent.name}/{path.name}", "")
        try:
            made.text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError) as error:
            made.fault(1, f"no se pudo leer ({error.__class__.__name__}).")
            return made
        if not re.fullmatch(r"[a-z][a-z0-9_]*", made.name):
            made.fault(1, "el nombre del archivo va en minúsculas, sin espacios ni acentos.")
        constants = made.constants()
        made.text = variation.filled(made.text, constants, variant(variation.count(constants)))
        _Reader(made).read()
        return made

    def constants(self) -> dict[str, list]:
        """Las constantes que varían, con sus valores; ninguna, si la cabecera está mal."""
        given = [each for each in front_matter(self.text, FIELDS) if each[0] == "varia"]
        for _, value, line, wrong in given:
            faults = [] if wrong else list(variation.wrong(value, self.text))
            for fault in faults:
                self.fault(line, fault)
            return {} if wrong or faults else value
        return {}

    def line_of(self, field: str) -> int:
        """La línea en que está un campo de la cabecera; si no está, la primera de ella."""
        lines = enumerate(self.text.split("\n"), 1)
        return next((i for i, line in lines if line.startswith(f"{field}:")), 2)

    def fault(self, line: int, text: str) -> None:
        """Apunta algo que está mal."""
        self.faults.append(SourceFault(self.file, line, text))

    @property
    def solution(self) -> Cell | None:
        """La celda con la solución."""
        return next((cell for cell in self.cells if cell.is_marked), None)

    def whole(self, block: str) -> str:
        """Da la celda entera de un bloque que puede ser solo lo que va entre los marcadores."""
        tree = _parsed(block)
        if tree and self._indent and self.answer in bound_names(tree):
            return block
        start, end = self.region
        return self.code[:start] + textwrap.indent(block, self._indent) + self.code[end:]

    @property
    def _indent(self) -> str:
        return re.match(r"[ \t]*", self.code[self.region[0] :])[0]


_NUMBERED = re.compile(r"^ejercicio \d+|\(\d+ puntos?\)\s*$", re.I)
"""Lo que se pone solo en un título."""


def front_matter(text: str, fields: dict[str, type]) -> Iterator[tuple[str, Any, int, str]]:
    """Da cada campo de la cabecera, su valor, su línea y qué tiene mal (vacío si nada)."""
    found = re.match(r"---\n(.*?\n)?---\s*(\n|$)", text, re.S)
    if found is None:
        yield "", None, 1, "falta la cabecera: «---», los campos y «---» en las primeras líneas."
        return
    try:
        given = yaml.safe_load(found[1] or "") or {}
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 2
        problem = "la cabecera no es YAML; revisa los dos puntos, las comillas y la sangría."
        yield "", None, line, problem
        return
    if not isinstance(given, dict):
        yield "", None, 2, "la cabecera son líneas «campo: valor»."
        return
    lines = text[: found.end()].split("\n")
    for name, value in given.items():
        places = [i for i, x in enumerate(lines, 1) if x.startswith(f"{name}:")] or [2]
        yield str(name), *_checked(str(name), value, fields, places[0])
        for line in places[1:]:
            yield "", None, line, f"«{name}» ya está en la línea {places[0]}."


def _checked(name: str, value: Any, fields: dict[str, type], line: int) -> tuple[Any, int, str]:
    kind = fields.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, fields, 1)
        told = f"¿querías «{near[0]}»?" if near else f"Los que hay: {', '.join(fields)}."
        return value, line, f"no hay un campo «{name}». {told}"
    if kind is float:
        try:  # YAML lee 1e-4 como un texto
            return float(value), line, ""
        except (TypeError, ValueError):
            pass
    elif kind is object or type(value) is kind:
        return value, line, ""
    return value, line, f"«{name}» es {_KINDS[kind]}, y llegó «{value}»."


def parse_markdown(text: str) -> list:
    """Da las piezas de un texto, con sus líneas."""
    return MarkdownIt("commonmark").parse(text)


def read_cells(text: str, first: int, last: int) -> list[Cell]:
    """Parte en celdas unas líneas (desde 0): los `{code-cell}`, y lo que hay entre ellos."""
    lines = text.split("\n")
    cells, start = [], first
    part = "\n".join(lines[first:last])
    fences = [t for t in parse_markdown(part) if t.type == "fence" and t.level == 0]
    for token in [t for t in fences if t.info.strip().startswith("{code-cell}")]:
        a, b = (first + n for n in token.map)
        cells += _prose(lines, start, a)
        tags, code, skipped = _cell_options(token.content)
        cells.append(Cell("code", code, a + 2 + skipped, tags))
        start = b
    return cells + _prose(lines, start, last)


def _prose(lines: list[str], start: int, end: int) -> list[Cell]:
    cells, begin = [], start
    for stop in [i for i in range(start, end) if lines[i].strip() == "+++"] + [end]:
        block = "\n".join(lines[begin:stop])
        if block.strip():
            blank = len(block) - len(block.lstrip("\n"))
            text = _spaced(block.strip("\n").rstrip())
            cells.append(Cell("markdown", text, begin + blank + 1))
        begin = stop + 1
    return cells


def _spaced(text: str) -> str:
    """Pone la línea en blanco con que Markdown lee lo que hay dentro de un `<details>`."""
    text = re.sub(r"^(<details>.*</summary>)\n(?!\n)", r"\1\n\n", text, flags=re.M)
    text = re.sub(r"(?<!\n)\n(</details>)$", r"\n\n\1", text, flags=re.M)
    return re.sub(r"^(</details>)\n(?!\n)", r"\1\n\n", text, flags=re.M)


def _cell_options(content: str) -> tuple[tuple[str, ...], str, int]:
    found = re.match(r":tags: \[(.*)\]\n+", content)
    if not found:
        return (), content.strip("\n"), 0
    tags = tuple(tag.strip().strip("\"'") for tag in found[1].split(","))
    return tags, content[found.end() :].strip("\n"), found[0].count("\n")


class _Reader:
    """Llena un `ExerciseSource` con lo que dice su texto."""

    def __init__(self, made: ExerciseSource) -> None:
        self.made = made
        self.lines = made.text.split("\n")

    def read(self) -> None:
        self._options()
        sections = self._sections()
        if sections is None:
            return
        first, last = sections.pop("")
        self.made.cells = read_cells(self.made.text, first, last)
        self._solution()
        for name, (start, end) in sections.items():
            {"Casos": self._cases, "Errores": self._mistakes, "Otras maneras": self._others}[name](
                start, end
            )
        if not self.made.mistakes:
            line = sections.get("Errores", (len(self.lines) - 1, 0))[0]
            self.made.fault(line, "no hay ningún error frecuente en «## Errores».")

    def _options(self) -> None:
        for name, value, line, wrong in front_matter(self.made.text, FIELDS):
            if wrong:
                self.made.fault(line, wrong)
            else:
                self.made.options[name] = value
        options = self.made.options
        if "puntos" not in options and not self.made.faults:
            self.made.fault(2, "falta el campo «puntos».")
        if options.get("puntos", 1) < 1:
            self.made.fault(2, "«puntos» es al menos 1.")
        self._parts(options.get("partes", []))

    def _parts(self, parts: list) -> None:
        line = self.made.line_of("partes")
        for part in parts:
            if not isinstance(part, dict) or not {"nombre", "puntos"} <= part.keys():
                self.made.fault(line, "cada parte tiene al menos «nombre» y «puntos».")
                continue
            for name, value in part.items():
                if wrong := _checked(str(name), value, PART_FIELDS, line)[2]:
                    self.made.fault(line, wrong)
            if part.get("propiedad", "valores") not in PROPERTIES:
                self.made.fault(line, f"«propiedad» es una de {', '.join(PROPERTIES)}.")
            elif part.get("propiedad") == "gradiente" and not self.made.options.get("gradiente"):
                self.made.fault(line, "una parte pide el gradiente, y el ejercicio no lo compara.")
            if "elemento" in part and part.get("propiedad") in ("entradas", "gradiente"):
                told = f"«{part['propiedad']}» es de todo el resultado: quita «elemento»."
                self.made.fault(line, told)
        self._parts_fit([part for part in parts if isinstance(part, dict)], line)

    def _parts_fit(self, parts: list[dict], line: int) -> None:
        """Las partes, juntas, caben en el ejercicio, y cada una se distingue."""
        worth = [part["puntos"] for part in parts if type(part.get("puntos")) is int]
        names = {str(part.get("nombre")) for part in parts}
        total = self.made.options.get("puntos", sum(worth) + 1)
        for is_wrong, told in (
            (min(worth, default=1) < 1, "los puntos de cada parte son al menos 1."),
            (sum(worth) > total, "las partes suman más puntos que el ejercicio."),
            (parts and total == 1, "un ejercicio de un punto no se parte."),
            (len(names) < len(parts), "dos partes se llaman igual."),
        ):
            if is_wrong:
                self.made.fault(line, told)

    def _sections(self) -> dict[str, tuple[int, int]] | None:
        """Las líneas de cada sección; la del cuaderno, con el nombre vacío y sin su título."""
        head = re.match(r"---\n(.*?\n)?---\s*?(\n|$)", self.made.text, re.S)
        skipped = self.made.text[: head.end()].count("\n") if head else 0
        tokens = parse_markdown("\n" * skipped + "\n".join(self.lines[skipped:]))
        found, title = [], None
        for token, inline in itertools.pairwise(tokens):
            if token.type != "heading_open" or token.level or token.markup not in ("#", "##"):
                continue
            if token.markup == "#" and title is None:
                title, self.made.title = token.map, inline.content
                if told := _NUMBERED.search(inline.content):
                    problem = f"quita «{told[0].strip()}»: el número y los puntos se ponen solos."
                    self.made.fault(token.map[0] + 1, problem)
            elif token.markup == "##":
                found.append((inline.content, *token.map))
        if title is None:
            self.made.fault(skipped + 1, "falta el título: una línea «# …» después de la cabecera.")
            return None
        marks = [each for each in found if self._is_section(*each[:2])]
        ends = [each[1] for each in marks[1:]] + [len(self.lines)]
        sections = {"": (title[1], marks[0][1] if marks else len(self.lines))}
        for (name, _, start), end in zip(marks, ends, strict=False):
            if name in sections:
                self.made.fault(start, f"hay dos secciones «## {name}».")
            sections[name] = (start, end)
        return sections

    def _is_section(self, name: str, line: int) -> bool:
        if name in SECTIONS:
            return True
        near = difflib.get_close_matches(name, SECTIONS, 1, 0.7)
        told = f"¿querías «## {near[0]}»?" if near else f"Las que hay: {', '.join(SECTIONS)}."
        self.made.fault(line + 1, f"no hay una sección «## {name}». {told}")
        return False

    # La solución

    def _solution(self) -> None:
        made = self.made
        for cell in made.cells:
            if cell.kind == "markdown" and re.search(r"^### (BEGIN|END) SOLUTION", cell.text, re.M):
                made.fault(cell.line, "los marcadores van en una celda de código (`{code-cell}`).")
            if cell.kind == "code":
                self._require_python(cell.text, cell.line)
        marked = [cell for cell in made.cells if cell.is_marked]
        if len(marked) != 1:
            line = marked[1].line if marked else 1
            told = "hay dos celdas con marcadores" if marked else "ninguna celda tiene la solución"
            made.fault(line, f"{told}: una, entre «### BEGIN SOLUTION» y «### END SOLUTION».")
            return
        cell = marked[0]
        try:
            replace_solutions(cell.text, keep=False)
            made.code = replace_solutions(cell.text, keep=True)
        except ValueError as error:
            made.fault(cell.line, str(error))
            return
        before, _, rest = cell.text.partition("### BEGIN SOLUTION")
        inside = rest.partition("### END SOLUTION")[0].split("\n")[1:-1]
        kept = [line for line in inside if not re.match(r"\s*# STUB:", line)]
        start = before.rfind("\n") + 1
        made.region = (start, start + len("\n".join(kept)))
        if not "".join(kept).strip():
            made.fault(cell.line, "entre los marcadores no hay nada.")
        if "### BEGIN SOLUTION" in rest:
            made.fault(cell.line, "la celda tiene dos soluciones; deja una.")
        self._answer(cell)

    def _answer(self, cell: Cell) -> None:
        made = self.made
        tree = _parsed(made.code)
        names = bound_names(tree) if tree else []
        made.answer = made.options.get("respuesta") or (names[-1] if names else "")
        if tree and made.answer not in names:
            made.fault(cell.line, f"la celda de la solución no define «{made.answer or 'nada'}».")

    def _require_python(self, code: str, line: int) -> bool:
        if parse_cell(code) is not None:
            return True
        try:
            parse(code)
        except (SyntaxError, ValueError) as error:
            number = (getattr(error, "lineno", 1) or 1) - 1
            text = code.split("\n")[min(number, code.count("\n"))].strip()
            self.made.fault(line + number, f"no es Python válido: «{text}».")
        return False

    # Lo que sirve para juzgar

    def _fences(self, start: int, end: int) -> list[tuple[str, int]]:
        tokens = parse_markdown("\n".join(self.lines[start:end]))
        found = [t for t in tokens if t.type == "fence" and t.level == 0]
        return [(t.content.rstrip("\n"), start + t.map[0] + 2) for t in found]

    def _cases(self, start: int, end: int) -> None:
        blocks = self._fences(start, end)
        if len(blocks) != 1:
            self.made.fault(start, "«## Casos» tiene un bloque de Python, con `def cases(rng)`.")
            return
        self.made.cases = blocks[0]
        code, line = blocks[0]
        if not self._require_python(code, line):
            return
        names = bound_names(parse(code))
        if "cases" not in names:
            self.made.fault(line, "el bloque de casos no define `cases(rng)`.")
        for part in self.made.options.get("partes", []):
            if isinstance(part, dict) and part.get("casos", "cases") not in names:
                told = (
                    f"la parte «{part.get('nombre')}» usa `{part['casos']}`, que no se define aquí."
                )
                self.made.fault(line, told)

    def _others(self, start: int, end: int) -> None:
        for code, line in self._fences(start, end):
            if self._require_python(_as_body(code), line):
                self.made.alternatives.append((code, line))
        self._require_answers()

    def _require_answers(self) -> None:
        """Un bloque que define otra función no sería otra manera de esta."""
        for code, line in self.made.alternatives:
            names, tree = self.made.answer, _parsed(code)
            defined = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)] if tree else []
            only = tree is not None and len(tree.body) == len(defined)
            if only and names and names not in defined:
                self.made.fault(line, f"define «{defined[-1]}», y la respuesta se llama «{names}».")

    def _mistakes(self, start: int, end: int) -> None:
        tokens = parse_markdown("\n".join(self.lines[start:end]))
        for i, token in enumerate(tokens):
            if token.type == "list_item_open" and token.level == 1:
                a, b = token.map
                fences = []
                for inner in tokens[i + 1 :]:
                    if inner.type == "list_item_close" and inner.level == 1:
                        break
                    if inner.type == "fence":
                        fences.append((inner.map[0] - a, inner.map[1] - a, inner.content))
                self._mistake(self.lines[start + a : start + b], fences, start + a + 1)
        names = [m.name for m in self.made.mistakes]
        for mistake in self.made.mistakes:
            mistake.name = mistake.name or _name_from(mistake.hint, names)
            names.append(mistake.name)
        self._require_different()

    def _mistake(self, lines: list[str], fences: list[tuple[int, int, str]], line: int) -> None:
        try:
            self.made.mistakes.append(read_mistake(lines, fences, line))
        except ValueError as error:
            self.made.fault(line, str(error))

    def _require_different(self) -> None:
        for what, said in (("name", "el mismo nombre"), ("hint", "la misma pista")):
            seen: dict[str, int] = {}
            for mistake in self.made.mistakes:
                key = " ".join(getattr(mistake, what).casefold().split())
                if key in seen:
                    told = f"este error tiene {said} que el de la línea {seen[key]}."
                    self.made.fault(mistake.line, told)
                seen.setdefault(key, mistake.line)
        known = {m.name for m in self.made.mistakes}
        for mistake in self.made.mistakes:
            for name in mistake.apart:
                if name not in known:
                    self.made.fault(
                        mistake.line, f"«no con: {name}»: no hay un error con ese nombre."
                    )


_CODE = r"(?P<{0}q>`+)(?P<{0}>.+?)(?P={0}q)(?!`)"
_EDIT = re.compile(
    r"\s*" + _CODE.format("old") + r"\s*(?:→|->)\s*(?:" + _CODE.format("new") + r"|nada\b)", re.S
)
_VALUE = re.compile(r"\s*=\s*" + _CODE.format("value"), re.S)
_NAME = re.compile(r"\s*\*\*([a-z][a-z0-9_]*)\*\*[\s:·]*")
_RAISES = re.compile(r"^\s*[Ss]e detiene:\s*(\w+)\.?\s*$", re.M)
_APART = re.compile(r"^\s*[Nn]o con:\s*(.+?)\.?\s*$", re.M)
_ARROW = re.compile(r"\s*(?:→|->)\s*")


def read_mistake(lines: list[str], fences: list[tuple[int, int, str]], line: int) -> Mistake:
    """Lee un punto de la lista de errores.

    Argumentos:
        lines: las suyas, con la viñeta.
        fences: sus bloques de código: primera línea, la siguiente a la última, y el contenido.
        line: la del archivo en que empieza.

    Errores:
        ValueError: no se entiende; el mensaje dice qué.
    """
    width = re.match(r"\s*(?:[-*+]|\d+[.)])\s+", lines[0]).end()
    plain = [lines[0][width:]] + [
        text[min(width, len(text) - len(text.lstrip())) :] for text in lines[1:]
    ]
    if fences and not fences[0][0]:
        plain[0] = ""
    pieces, start = [], 0
    for first, last, content in fences:
        pieces += ["\n".join(plain[start:first]), content.rstrip("\n")]
        start = last
    pieces.append("\n".join(plain[start:]))
    mistake = Mistake(line, "")
    rest = _read_head(mistake, pieces)
    for pattern, name in ((_RAISES, "raises"), (_APART, "apart")):
        if found := pattern.search(rest):
            setattr(mistake, name, found[1])
            rest = pattern.sub("", rest)
    mistake.apart = tuple(x.strip(" `*") for x in mistake.apart.split(",")) if mistake.apart else ()
    mistake.hint = " ".join(rest.split()).lstrip(":—–· ").strip()
    if "```" in mistake.hint or "→" in mistake.hint[:3]:
        raise ValueError("no se entiende qué cambia; se escribe «`trozo` → `otro`» y la pista.")
    if len(mistake.hint) < 10:
        raise ValueError("falta la pista: después del cambio, una frase que diga qué está mal.")
    return mistake


def _read_head(mistake: Mistake, pieces: list[str]) -> str:
    """Lee el nombre y los cambios; da lo demás."""
    text = pieces[0]
    if found := _NAME.match(text):
        mistake.name, text = found[1], text[found.end() :]
    if found := _VALUE.match(text):
        mistake.value = _code(found["value"])
        return "\n".join([text[found.end() :], *pieces[1:]])
    while found := _EDIT.match(text):
        mistake.edits.append((_code(found["old"]), _code(found["new"] or "")))
        text = text[found.end() :]
        if not re.match(r"\s*;", text):
            return "\n".join([text, *pieces[1:]])
        text = text.lstrip()[1:]
    pieces = [text, *pieces[1:]]
    if pieces[0].strip() or len(pieces) < 3:
        raise ValueError("no se entiende qué cambia; se escribe «`trozo` → `otro`» y la pista.")
    while len(pieces) >= 5 and _ARROW.fullmatch(pieces[2]):
        mistake.edits.append((pieces[1], pieces[3]))
        pieces = pieces[4:]
        if not pieces[0].strip().startswith(";") or len(pieces) < 3:
            return "\n".join(pieces)
    if mistake.edits:
        raise ValueError("después de «;» va otro cambio, como el primero.")
    mistake.body = pieces[1]
    return "\n".join(pieces[2:])


def _code(span: str) -> str:
    """El código de un trozo entre acentos graves, como lo lee Markdown."""
    text = re.sub(r"\s*\n\s*", " ", span)
    return text[1:-1] if text[:1] == text[-1:] == " " and text.strip() else text


def _name_from(hint: str, taken: list[str]) -> str:
    """Hace un nombre con las primeras palabras de una pista."""
    ascii_text = unicodedata.normalize("NFKD", hint).encode("ascii", "ignore").decode().lower()
    words = [w for w in re.findall(r"[a-z0-9]+", ascii_text) if w[0].isalpha()][:5]
    name = base = "_".join(words) or "error"
    number = 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


def bound_names(tree: ast.Module) -> list[str]:
    """Da los nombres que define un código en su primer nivel, en orden."""
    names = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names += [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        else:
            inner = [n.target for n in ast.walk(node) if isinstance(n, ast.comprehension)]
            own = {id(name) for target in inner for name in ast.walk(target)}
            stored = [n for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in own]
            names += [n.id for n in stored if isinstance(n.ctx, ast.Store)]
    return names


def _parsed(code: str) -> ast.Module | None:
    try:
        return parse(code)
    except (SyntaxError, ValueError):
        return None


def _as_body(code: str) -> str:
    """Un bloque que puede ser el cuerpo de una función, como código que se puede analizar."""
    if _parsed(code) is not None:
        return code
    return "def body():\n" + textwrap.indent(code, "    ")


def find_edit(made: ExerciseSource, old: str, new: str) -> tuple[int, int, str]:
    """Busca un trozo de la solución, y da su lugar y lo que va en él, con su sangría.

    Errores:
        ValueError: no está, o está más de una vez.
    """
    start, end = made.region
    inside = made.code[start:end]
    if not old.strip():
        raise ValueError("el trozo que se cambia está vacío.")
    indents = sorted(set(re.findall(r"^[ \t]*", inside, re.M))) if "\n" in old else [""]
    spans = set()
    for indent in indents:
        text = old.replace("\n", f"\n{indent}")
        found = re.finditer(f"(?={re.escape(text)})", inside)
        spans |= {(m.start(), m.start() + len(text)) for m in found}
    if not spans:
        near = difflib.get_close_matches(old, [x.strip() for x in inside.split("\n")], 1, 0.5)
        told = f" ¿Querías «{near[0]}»?" if near else ""
        raise ValueError(f"«{old}» no está en la solución.{told}")
    if len(spans) > 1:
        raise ValueError(
            f"«{old}» está {len(spans)} veces en la solución: alarga el trozo para que sea uno."
        )
    ((a, b),) = spans
    line = inside.rfind("\n", 0, a) + 1
    indent = re.match(r"[ \t]*", inside[line:])[0]
    return start + a, start + b, new.replace("\n", f"\n{indent}")
