"""Un tema es una carpeta, `solutions/TEMA/`: un archivo por ejercicio, y `_topic.md`.

`_topic.md` tiene lo que rodea a los ejercicios:

    ---
    titulo: Atención
    ---

    {Ejercicios} sobre el capítulo …: {puntos}.        «Ocho ejercicios», «14 puntos»: se cuentan

    ```{code-cell} ipython3
    import torch
    from course_lib import check
    ```

    ```{ejercicios}
    soft_argmax
    hard_argmax
    ```

    Lo que va entre ellos, y después otro bloque `{ejercicios}`, o lo que va al final.

Los números, las líneas de título y las celdas de comprobación se hacen aquí. De la carpeta salen
los dos cuadernos y `course_lib/judging/exercises/TEMA.json`, que es lo que `check` necesita.
"""

from __future__ import annotations

import ast
import functools
import itertools
import json
import re
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import course_lib
from course_lib._extras import extra
from course_lib.judging.compiled import make_exercise, replaced
from course_lib.judging.display import points_text
from course_lib.judging.exercise import Exercise
from course_lib.judging.owner import allotted
from course_lib.notebooks import variation
from course_lib.notebooks.exercise_source import (
    PROPERTIES,
    Cell,
    ExerciseSource,
    Mistake,
    SourceFault,
    bound_names,
    find_edit,
    front_matter,
    parse_markdown,
    read_cells,
)
from course_lib.notebooks.fingerprint import global_uses, is_check, parse, parse_cell
from course_lib.notebooks.source import SOLUTION_ONLY, NotebookError, replace_solutions

with extra("author"):
    import nbformat

TOPIC_FILE = "_topic.md"
_NUMBERS = "cero un dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"
_NUMBERS += " dieciséis diecisiete dieciocho diecinueve veinte"
NUMBERS = _NUMBERS.split()
_FEWEST_CHARACTERS = 25
"""De cuántas letras es, al menos, una solución que no puede estar en otra parte por casualidad."""


class FaultsError(NotebookError):
    """Una fuente tiene cosas mal; `faults` son todas, con su archivo y su línea."""

    def __init__(self, faults: Iterable[SourceFault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        super().__init__("\n".join(map(str, self.faults)))


def compiled_path(root: Path, topic: str) -> Path:
    """Dónde se guarda lo que `check` necesita de un tema: en la biblioteca, si es del curso."""
    library = root / "course_lib" / "judging"
    return (library if library.is_dir() else root) / "exercises" / f"{topic}.json"


def compiled_drift(source: TopicSource) -> str:
    """Dice qué le pasa a lo que `check` necesita; vacío si está al día."""
    path = compiled_path(source.root, source.topic)
    name = path.relative_to(source.root).as_posix()
    if not path.is_file():
        return f"{name}: falta"
    return "" if path.read_bytes() == source.compiled else f"{name}: no es lo que dice la fuente"


@dataclass(frozen=True)
class TopicSource:
    """La fuente de un tema, ya reunida: sus celdas, sus ejercicios y lo que `check` necesita.

    Atributos:
        text: todos sus archivos, seguidos.
        notebook: el cuaderno de soluciones, todavía con sus marcadores.
        places: de cada celda, su archivo y su línea.
        compiled: el contenido de `course_lib/judging/exercises/TEMA.json`.
    """

    topic: str
    root: Path
    text: str
    notebook: Any
    exercises: tuple[ExerciseSource, ...]
    places: dict[int, tuple[str, int]]
    compiled: bytes

    @classmethod
    def read(cls, topic: str, root: Path, owner: str = "") -> TopicSource:
        """Lee la carpeta de un tema.

        Argumentos:
            topic: el tema.
            root: la carpeta en que está `solutions/`.
            owner: de quién es el cuaderno, que decide las constantes que varían; vacío, de todos.

        Errores:
            FaultsError: algo está mal.
        """
        return _Reader(topic, root, owner).read()

    @property
    def names(self) -> list[str]:
        """Los nombres de los ejercicios que se comprueban, en su orden."""
        return [f"{self.topic}.{each.name}" for each in self.exercises]

    def modules(self) -> set[str]:
        """Los módulos de la biblioteca que usan los ejercicios y sus otras maneras."""
        stored = [json.dumps(each.options) + each.text for each in self.exercises]
        return {name for text in stored for name in re.findall(r"\bcourse_lib(?:\.\w+)+", text)}

    def place(self, cell: Any) -> str:
        """Nombra una celda: archivo y línea."""
        file, line = self.places[id(cell)]
        return f"solutions/{file}, línea {line}"


def read_exercise(path: Path) -> Exercise:
    """Da el ejercicio de un archivo suelto, como lo verá `check`, sin su tema alrededor.

    Errores:
        FaultsError: algo está mal.
    """
    path = path.resolve()
    made = ExerciseSource.read(path)
    reader = _Reader(path.parent.name, path.parents[2])
    reader.around = [(None, made.name, 1)]
    stored = {} if made.faults else reader.compile(made, [made])
    if faults := [*made.faults, *_revealed(made)]:
        raise FaultsError(faults)
    return make_exercise(stored)


class _Reader:
    """Reúne los archivos de un tema, y apunta lo que está mal."""

    def __init__(self, topic: str, root: Path, owner: str = "") -> None:
        self.topic, self.root, self.owner = topic, root, owner
        self.folder = root / "solutions" / topic
        self.file = f"{topic}/{TOPIC_FILE}"
        self.faults: list[SourceFault] = []
        self.options: dict[str, Any] = {}
        self.around: list[tuple[Cell | None, str, int]] = []

    def read(self) -> TopicSource:
        text = self._read_around()
        found = {
            p.stem: ExerciseSource.read(p, functools.partial(self._variant, p.stem))
            for p in sorted(self.folder.glob("*.md"))
            if p.name != TOPIC_FILE
        }
        exercises = self._in_order(found)
        for each in found.values():
            self.faults += each.faults
            self._without_checks(each.file, each.cells)
        self._without_rebinding(exercises)
        stored = []
        if not self.faults:
            stored = [self._with_variants(each, exercises) for each in exercises]
        for each in (one for own in exercises for one in (own, *own.variants)):
            self.faults += [*each.faults, *_revealed(each)]
        if self.faults:
            raise FaultsError(self.faults)
        notebook, places = self._assemble(found)
        texts = "\0".join([text, *(each.text for each in exercises)])
        content = {"topic": self.topic, "title": self.options["titulo"]}
        content |= {"next": self._next_title(), "exercises": stored}
        compiled = (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()
        return TopicSource(
            self.topic, self.root, texts, notebook, tuple(exercises), places, compiled
        )

    def _variant(self, name: str, count: int) -> int:
        return allotted(self.owner, f"{self.topic}.{name}", count) if self.owner else 0

    def _with_variants(
        self, made: ExerciseSource, exercises: list[ExerciseSource]
    ) -> dict[str, Any]:
        """Lo que se guarda de un ejercicio, y de él mismo con las otras constantes."""
        stored = self.compile(made, exercises)
        path = self.folder / f"{made.name}.md"
        for variant in range(1, variation.count(made.options.get("varia", {}))):
            other = ExerciseSource.read(path, lambda count, variant=variant: variant)
            made.variants.append(other)
            if not other.faults:
                swapped = [other if each is made else each for each in exercises]
                stored.setdefault("variants", []).append(self.compile(other, swapped))
            if _given(made) != _given(other):
                told = "una constante cambia lo que el cuaderno da; va en el texto o la solución."
                made.fault(made.solution.line, told)
        return stored

    def _fault(self, line: int, text: str) -> None:
        self.faults.append(SourceFault(self.file, line, text))

    def _read_around(self) -> str:
        try:
            text = (self.folder / TOPIC_FILE).read_text(encoding="utf-8").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError) as error:
            self._fault(1, f"no se pudo leer ({error.__class__.__name__}).")
            return ""
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.topic):
            self._fault(1, "el nombre de la carpeta va en minúsculas, sin espacios ni acentos.")
        for name, value, line, wrong in front_matter(text, {"titulo": str}):
            if wrong:
                self._fault(line, wrong)
            self.options[name] = value
        if "titulo" not in self.options and not self.faults:
            self._fault(2, "falta el campo «titulo».")
        lines = text.split("\n")
        start = next((i for i, x in enumerate(lines[1:], 2) if x.rstrip() == "---"), 0)
        blocks = [
            (start + t.map[0], start + t.map[1], t)
            for t in parse_markdown("\n".join(lines[start:]))
            if t.type == "fence" and t.level == 0 and t.info.strip() == "{ejercicios}"
        ]
        for first, last, token in blocks:
            self.around += [(cell, "", cell.line) for cell in read_cells(text, start, first)]
            for i, name in enumerate(token.content.split("\n")):
                if name.strip():
                    self.around.append((None, name.strip(), first + 2 + i))
            start = last
        self.around += [(cell, "", cell.line) for cell in read_cells(text, start, len(lines))]
        around = [cell for cell, _, _ in self.around if cell is not None]
        self._without_checks(self.file, around)
        for cell in around:
            if cell.is_marked:
                self._fault(cell.line, "la solución va en el archivo de su ejercicio, y no aquí.")
        if not blocks:
            self._fault(1, "falta un bloque «```{ejercicios}» con los nombres, uno por línea.")
        return text

    def _without_checks(self, file: str, cells: Iterable[Cell]) -> None:
        for cell in cells:
            tree = parse_cell(cell.text) if cell.kind == "code" else None
            if tree and any(map(is_check, ast.walk(tree))):
                told = "la celda que comprueba se escribe sola, detrás de la solución: quítala."
                self.faults.append(SourceFault(file, cell.line, told))

    def _without_rebinding(self, exercises: list[ExerciseSource]) -> None:
        """Lo que una celda importa, o contesta un ejercicio, ninguna otra lo vuelve a definir.

        Al calificar se llama a cada función cuando el cuaderno entero ya se ejecutó.
        """
        answers = {each.answer: each for each in exercises}
        around = [(cell, self.file) for cell, _, _ in self.around if cell is not None]
        cells = [*around, *((cell, each.file) for each in exercises for cell in each.cells)]
        trees = [(parse_cell(c.text), c, file) for c, file in cells if c.kind == "code"]
        imports = (ast.Import, ast.ImportFrom)
        imported = set()
        for tree, _, _ in trees:
            found = [node for node in tree.body if isinstance(node, imports)] if tree else []
            imported |= set(bound_names(ast.Module(found, [])))
        for tree, cell, file in trees:
            own = [node for node in tree.body if not isinstance(node, imports)] if tree else []
            for name in dict.fromkeys(bound_names(ast.Module(own, []))):
                is_answer = name in answers and answers[name].solution is not cell
                if is_answer or name in imported:
                    what = f"la respuesta de «{answers[name].name}»" if is_answer else "un import"
                    told = f"esta celda vuelve a definir «{name}», que es {what}: usa otro nombre."
                    self.faults.append(SourceFault(file, cell.line, told))

    def _in_order(self, found: dict[str, ExerciseSource]) -> list[ExerciseSource]:
        order: dict[str, int] = {}
        for cell, name, line in self.around:
            if cell is not None:
                continue
            if name in order:
                self._fault(line, f"«{name}» ya está en la línea {order[name]}.")
            elif name not in found:
                told = f"solutions/{self.topic}/{name}.md"
                self._fault(line, f"no existe {told}: créalo con `course new {self.topic}.{name}`.")
            order.setdefault(name, line)
        for name, each in found.items():
            if name not in order:
                told = f"este ejercicio no está en el orden de solutions/{self.file}."
                self.faults.append(SourceFault(each.file, 1, told))
        return [found[name] for name in order if name in found]

    # Lo que `check` necesita

    def compile(self, made: ExerciseSource, exercises: list[ExerciseSource]) -> dict[str, Any]:
        """Da lo que se guarda de un ejercicio; lo que esté mal queda en sus `faults`."""
        options = {"gradiente": "gradient", "tolerancia": "tolerance"}
        options["entradas_pueden_cambiar"] = "inputs_may_change"
        given = made.options
        stored = {"name": f"{self.topic}.{made.name}", "points": given["puntos"]}
        stored["title"] = heading(exercises.index(made) + 1, made)
        if section := self._section(made):
            stored["section"] = section
        stored["options"] = {new: given[old] for old, new in options.items() if old in given}
        library = [given["biblioteca"]] if "biblioteca" in given else []
        if answers := [*library, *given.get("prohibido", [])]:
            stored["answers"] = answers
        if "partes" in given:
            stored["partial"] = [_part(part) for part in given["partes"]]
        stored |= {"answer": made.answer, "code": made.code, "cases": made.cases[0]}
        stored["mistakes"] = self._mistakes(made)
        codes = [made.code, made.cases[0]]
        codes += [m["code"] for m in stored["mistakes"] if "code" in m]
        codes += [replaced(made.code, m["edits"]) for m in stored["mistakes"] if "edits" in m]
        codes += [m["value"] for m in stored["mistakes"] if "value" in m]
        codes += [made.whole(code) for code, _ in made.alternatives]
        stored["context"] = needed(list(self._before(made, exercises)), codes)
        return stored

    def _next_title(self) -> str:
        """El título del cuaderno que va detrás en el índice del libro; vacío si es el último."""
        path = self.root / "_toc.yml"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        listed = re.findall(r"file: exercises/(\w+)\n +title: (.+)", text)
        topics = [topic for topic, _ in listed]
        place = topics.index(self.topic) + 1 if self.topic in topics else len(topics)
        return listed[place][1].strip() if place < len(listed) else ""

    @property
    def _book(self) -> Path:
        """Las páginas del libro; las de un tema propio son las del curso."""
        own = self.root / "book"
        return own if own.is_dir() else Path(course_lib.__file__).parents[1] / "book"

    def _section(self, made: ExerciseSource) -> dict[str, str] | None:
        """La sección del libro que dice la cabecera, con su título, que se lee en el capítulo."""
        given = made.options.get("seccion")
        if given is None:
            return None
        line = made.line_of("seccion")
        page, _, label = given.partition("#")
        path = self._book / f"{page}.md"
        if not page.isidentifier() or not path.is_file():
            made.fault(line, f"no hay un capítulo «{page}»: «seccion» es «capitulo#etiqueta».")
            return None
        text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        found = re.search(rf"^\({re.escape(label)}\)=\n+#+ +(.+?) *$", text, re.MULTILINE)
        if found is None:
            made.fault(line, f"book/{page}.md no tiene una sección con la etiqueta «{label}».")
            return None
        return {"title": found[1], "page": page, "label": label}

    def _before(self, made: ExerciseSource, exercises: list[ExerciseSource]) -> Iterator[str]:
        """El código de las celdas anteriores a la de una solución."""
        by_name = {each.name: each for each in exercises}
        for cell, name, _ in self.around:
            if cell is not None:
                yield from [cell.text] if cell.kind == "code" else ()
                continue
            each = by_name[name]
            for own in each.cells:
                if each is made and own.is_marked:
                    return
                if own.kind == "code":
                    yield each.code if own.is_marked else own.text

    def _mistakes(self, made: ExerciseSource) -> list[dict[str, Any]]:
        stored, seen = [], {_tree(made.code): 0}
        for mistake in made.mistakes:
            try:
                one = _stored(made, mistake)
                code = one.get("value") or one.get("code") or replaced(made.code, one["edits"])
                _require_new(code, seen, mistake)
                stored.append(one)
            except ValueError as error:
                made.fault(mistake.line, str(error))
        return stored

    # El cuaderno

    def _assemble(self, found: dict[str, ExerciseSource]) -> tuple[Any, dict[int, tuple[str, int]]]:
        cells, places, number = [], {}, 0
        opening = f"# Soluciones: {self.options['titulo']}\n\n"
        for cell, name, line in self.around:
            if cell is None:
                number += 1
                added = _exercise_cells(self.topic, number, found[name])
                file = found[name].file
            else:
                text = self._counted(cell.text, found)
                added, file = [replace(cell, text=text)], self.file
            if not cells and added[0].kind == "markdown":
                added[0].text, opening = opening + added[0].text, ""
            elif opening:
                added, opening = [Cell("markdown", opening.strip(), line), *added], ""
            for each in added:
                cells.append(_notebook_cell(each))
                places[id(cells[-1])] = file, each.line
        return nbformat.v4.new_notebook(cells=cells), places

    def _counted(self, text: str, found: dict[str, ExerciseSource]) -> str:
        """Pone las cuentas en un texto: cuántos ejercicios hay y cuántos puntos valen."""
        one = len(found) == 1
        word = NUMBERS[len(found)] if len(found) < len(NUMBERS) else str(len(found))
        count = f"{word} {'ejercicio' if one else 'ejercicios'}"
        points = points_text(sum(each.options["puntos"] for each in found.values()))
        for name, said in (("ejercicios", count), ("puntos", points)):
            text = text.replace(f"{{{name}}}", said)
            text = text.replace(f"{{{name.capitalize()}}}", said[0].upper() + said[1:])
        return text


def heading(number: int, made: ExerciseSource) -> str:
    """El título de un ejercicio en su cuaderno: «Ejercicio 3 · Pesos de autoatención»."""
    return f"Ejercicio {number} · {made.title}"


def _given(made: ExerciseSource) -> list[str]:
    """El código que el cuaderno da con un ejercicio, sin la solución ni los textos."""
    cells = [cell for cell in made.cells if cell.kind == "code" and SOLUTION_ONLY not in cell.tags]
    codes = [
        replace_solutions(cell.text, keep=False) if cell.is_marked else cell.text for cell in cells
    ]
    return [re.sub(r'"""(?s:.*?)"""|#.*', "", code) for code in codes]


def _exercise_cells(topic: str, number: int, made: ExerciseSource) -> list[Cell]:
    """Las celdas de un ejercicio, con su línea de título y la que lo comprueba."""
    points = points_text(made.options["puntos"])
    title = f"## {heading(number, made)} ({points})"
    cells = [replace(cell) for cell in made.cells]
    if cells[0].kind == "markdown":
        cells[0].text = f"{title}\n\n{cells[0].text}"
    else:
        cells.insert(0, Cell("markdown", title, 1))
    place = next(i for i, cell in enumerate(cells) if cell.is_marked) + 1
    code = f'check("{topic}.{made.name}", {made.answer})'
    return [*cells[:place], Cell("code", code, cells[place - 1].line), *cells[place:]]


def _notebook_cell(cell: Cell) -> Any:
    make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    metadata = {"tags": list(cell.tags)} if cell.tags else {}
    return make[cell.kind](cell.text, metadata=metadata)


def _part(part: dict[str, Any]) -> dict[str, Any]:
    stored = {"label": part["nombre"], "points": part["puntos"]}
    if "propiedad" in part:
        stored["property"] = PROPERTIES[part["propiedad"]]
    names = {"elemento": "item", "casos": "cases"}
    return stored | {new: part[old] for old, new in names.items() if old in part}


def _stored(made: ExerciseSource, mistake: Mistake) -> dict[str, Any]:
    """Lo que se guarda de un error frecuente.

    Errores:
        ValueError: un trozo no está o está dos veces, dos cambios se pisan, o no es Python.
    """
    stored: dict[str, Any] = {"name": mistake.name, "hint": mistake.hint}
    if mistake.raises:
        stored["raises"] = mistake.raises
    if mistake.apart:
        stored["apart"] = list(mistake.apart)
    if mistake.value is not None:
        _require_python(mistake.value, "eval")
        return stored | {"value": mistake.value}
    if mistake.body is not None:
        code = made.whole(mistake.body)
        _require_python(code)
        return stored | {"code": code}
    edits = sorted(find_edit(made, old, new) for old, new in mistake.edits)
    for one, other in itertools.pairwise(edits):
        if other[0] < one[1]:
            raise ValueError("dos cambios de este error tocan el mismo trozo.")
    _require_python(replaced(made.code, edits))
    return stored | {"edits": [list(edit) for edit in edits]}


def _require_python(code: str, mode: str = "exec") -> None:
    try:
        compile(code, "<error>", mode)
    except (SyntaxError, ValueError) as error:
        text = (getattr(error, "text", "") or "").strip()
        told = f": «{text}»" if text else ""
        raise ValueError(f"con este cambio la solución deja de ser Python válido{told}.") from None


def _require_new(code: str, seen: dict[str | None, int], mistake: Mistake) -> None:
    tree = _tree(code)
    if tree in seen:
        raise ValueError(
            f"este error escribe lo mismo que el de la línea {seen[tree]}."
            if seen[tree]
            else "este error es la solución: no cambia nada."
        )
    seen[tree] = mistake.line


def _tree(code: str) -> str:
    return ast.dump(parse(code))


# El código que una solución usa sin definirlo


def needed(cells: list[str], codes: list[str]) -> str:
    """Da las instrucciones de unas celdas que definen lo que otros códigos usan.

    Es lo que `check` ejecuta antes de la solución: ni gráficas ni demostraciones.
    """
    statements = [(node, text) for cell in cells for node, text in _statements(cell)]
    bound = [set(_bound(node)) for node, _ in statements]
    wanted = set().union(*(used_names(code) for code in codes)) if codes else set()
    chosen: set[int] = set()
    while True:
        found = {i for i, names in enumerate(bound) if names & wanted} - chosen
        if not found:
            return "\n".join(statements[i][1] for i in sorted(chosen))
        chosen |= found
        wanted = wanted.union(*(used_names(statements[i][1]) for i in found))


def _statements(cell: str) -> Iterator[tuple[ast.stmt, str]]:
    tree = parse_cell(cell)
    for node in tree.body if tree else ():
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        yield node, "\n".join(cell.split("\n")[first - 1 : node.end_lineno])


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    return [
        part.id
        for inner in ast.walk(node)
        if isinstance(inner, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For))
        for target in getattr(inner, "targets", None) or [inner.target]
        for part in ast.walk(target)
        if isinstance(part, ast.Name)
    ]


def used_names(code: str) -> set[str]:
    """Da los nombres globales que usa un código."""
    try:
        return set(global_uses(symtable.symtable(code, "<celda>", "exec")))
    except (SyntaxError, ValueError):
        return set()


# La solución no se ve en otra parte


def _revealed(made: ExerciseSource) -> list[SourceFault]:
    """Dice en qué otras partes del ejercicio está la solución entera."""
    start, end = made.region
    lines = [_squeezed(line) for line in made.code[start:end].split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    if sum(map(len, lines)) < _FEWEST_CHARACTERS:
        return []
    shown = [(m.hint, m.line, "la pista de este error") for m in made.mistakes]
    for cell in made.cells:
        if cell.is_marked:
            rest = made.code[:start] + made.code[end:]
            shown.append((rest, cell.line, "la parte visible de la celda"))
        elif SOLUTION_ONLY not in cell.tags:
            what = "esta celda" if cell.kind == "code" else "el texto o una pista"
            shown.append((cell.text, cell.line, what))
    return [
        SourceFault(made.file, line, f"{what} contiene la solución entera.")
        for text, line, what in shown
        if all(each in _squeezed(text) for each in lines)
    ]


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)
