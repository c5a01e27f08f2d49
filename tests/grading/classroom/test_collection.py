"""Reunir entregas: de quién es cada archivo, qué se lee y qué no, y cómo se llama después."""

import io
import os
import re
import stat
import struct
import unicodedata
import zipfile
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.grading.classroom import collection, delivered
from course_lib.grading.classroom.collection import (
    CollectionError,
    Entry,
    collect,
)
from course_lib.grading.classroom.platform_names import parse_moodle_name
from course_lib.grading.classroom.untrusted_text import clean_name
from tests.grading.class_zip import class_zip, make_class

NOTEBOOK = b'{"cells": [{"cell_type": "code", "source": "x = 1"}], "nbformat": 4}'
FILE = "_assignsubmission_file_"


def write_zip(path, members, method=zipfile.ZIP_DEFLATED):
    """Escribe un ZIP; un miembro es (nombre, bytes) o (ZipInfo, bytes)."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def zip_bytes(*members):
    return write_zip(io.BytesIO(), members).getvalue()


def collect_zip(tmp_path, *members):
    return collect(write_zip(tmp_path / "entregas.zip", members))


def only(entries):
    assert len(entries) == 1, [(e.student, e.source, e.content) for e in entries]
    return entries[0]


def reasons(entries):
    return {e.student: e.content for e in entries if isinstance(e.content, str)}


# Carpetas


def test_a_flat_folder_has_one_student_per_file(tmp_path):
    for name in ("garcía.ipynb", "lopez (1).ipynb", "peña.ipynb.txt"):
        (tmp_path / name).write_bytes(NOTEBOOK)
    (tmp_path / "notas.csv").write_text("a,b")
    (tmp_path / ".DS_Store").write_bytes(b"x")
    (tmp_path / "ruiz.pdf").write_bytes(b"%PDF")
    entries = collect(tmp_path)
    assert [e.student for e in entries] == ["garcía", "lopez (1)", "peña", "ruiz"]
    assert [e.content for e in entries[:3]] == [NOTEBOOK] * 3
    assert entries[3].content == "la entrega no tiene ningún cuaderno (.ipynb), sino «ruiz.pdf»"
    assert {e.participant for e in entries} == {e.folder for e in entries} == {None}


def test_a_folder_per_student_keeps_every_notebook_of_each(tmp_path):
    for path in ("ana/atención.ipynb", "ana/sub/bert.ipynb", "ana/foto.png", "beto/x.ipynb"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(NOTEBOOK)
    (tmp_path / "ana/.ipynb_checkpoints").mkdir()
    (tmp_path / "ana/.ipynb_checkpoints/atención-checkpoint.ipynb").write_bytes(NOTEBOOK)
    (tmp_path / "carla").mkdir()
    found = [(e.student, e.source) for e in collect(tmp_path)]
    sources = [s for who, s in found if who == "ana"]
    assert sources == ["atención.ipynb", "foto.png", "sub/bert.ipynb"], "el contenido decide"
    assert ("beto", "x.ipynb") in found
    assert reasons(collect(tmp_path)) == {"carla": "la entrega no tiene ningún archivo"}


def test_a_zip_in_a_folder_is_of_the_student_who_names_it(tmp_path):
    (tmp_path / "ana.zip").write_bytes(zip_bytes(("a/t.ipynb", NOTEBOOK), ("u.ipynb", NOTEBOOK)))
    found = [(e.student, e.source) for e in collect(tmp_path)]
    assert found == [("ana", "ana.zip/a/t.ipynb"), ("ana", "ana.zip/u.ipynb")]


@pytest.mark.parametrize("root", ["", "submitted"])
def test_nbgrader_folders_name_the_student_before_the_assignment(tmp_path, root):
    for student in ("ana", "beto"):
        folder = tmp_path / "submitted" / student / "tarea1"
        folder.mkdir(parents=True)
        (folder / "attention.ipynb").write_bytes(NOTEBOOK)
    assert [e.student for e in collect(tmp_path / root)] == ["ana", "beto"]


def test_links_pipes_and_devices_are_never_opened(tmp_path):
    (tmp_path / "clase").mkdir()
    secret = tmp_path / "secreto.ipynb"
    secret.write_bytes(NOTEBOOK)
    (tmp_path / "otra").mkdir()
    (tmp_path / "otra/x.ipynb").write_bytes(NOTEBOOK)
    (tmp_path / "clase/enlace.ipynb").symlink_to(secret)
    (tmp_path / "clase/carpeta").symlink_to(tmp_path / "otra")
    (tmp_path / "clase/nulo.ipynb").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "clase/tubo.ipynb")
    (tmp_path / "clase/buena.ipynb").write_bytes(NOTEBOOK)
    entries = collect(tmp_path / "clase")
    link, pipe = "la entrega es un enlace", "la entrega no es un archivo normal"
    assert reasons(entries) == {"enlace": link, "carpeta": link, "nulo": link, "tubo": pipe}
    assert only([e for e in entries if e.student == "buena"]).content == NOTEBOOK


def test_a_file_that_becomes_a_pipe_before_it_is_read_does_not_block(tmp_path):
    (tmp_path / "a.ipynb").write_bytes(NOTEBOOK)
    files = delivered.disk_files(tmp_path)
    (tmp_path / "a.ipynb").unlink()
    os.mkfifo(tmp_path / "a.ipynb")
    with pytest.raises(delivered.FileError, match="no se puede leer"):
        files[0].start(10)


# El ZIP de Moodle


@pytest.mark.parametrize(
    "name, student, number",
    [
        ("Ana García_12345_assignsubmission_file_/tarea.ipynb", "Ana García", "12345"),
        ("Ana García_12345_assignsubmission_file/tarea.ipynb", "Ana García", "12345"),
        ("Ana García_12345_assignsubmission_file_tarea.ipynb", "Ana García", "12345"),
        ("Ana García_12345_assignsubmission_file_/1/tarea.ipynb", "Ana García", "12345"),
        ("Pérez, Ana María_8_assignsubmission_file_/t.ipynb", "Pérez, Ana María", "8"),
        ("ana_maria_perez_8_assignsubmission_file_/t.ipynb", "ana maria perez", "8"),
        ("Ana_2_77_assignsubmission_file_/t.ipynb", "Ana 2", "77"),
        ("Participante_123_assignsubmission_file_/t.ipynb", "Participante 123", "123"),
        ("Participante 123_assignsubmission_file_/t.ipynb", "Participante 123", "123"),
        ("Participant_9_assignsubmission_file_t.ipynb", "Participant 9", "9"),
        ("123_assignsubmission_file_/t.ipynb", "Participante 123", "123"),
        ("Equipo Rojo_57_assignsubmission_file_/t.ipynb", "Equipo Rojo", "57"),
        ("Grupo A-Ana García_5_assignsubmission_file_/t.ipynb", "Grupo A-Ana García", "5"),
        ("Grupo por defecto_assignsubmission_file_/t.ipynb", "Grupo por defecto", None),
        (".Ana_5_assignsubmission_file_/t.ipynb", ".Ana", "5"),
        ("A_1_assignsubmission_file_B_2_assignsubmission_file_t.ipynb", "A", "1"),
    ],
)
def test_moodle_names_are_read(tmp_path, name, student, number):
    entry = only(collect_zip(tmp_path, (name, NOTEBOOK)))
    assert (entry.student, entry.participant, entry.content) == (student, number, NOTEBOOK)
    assert (entry.folder is None) == (number is None)
    if number is not None:  # lo que mira importziplib.php: explode('_', …, 5)
        parts = entry.folder.split("_", 4)
        assert parts[1:] == [number, "assignsubmission", "file", ""], "Moodle no la reconocería"


def test_files_and_online_text_of_one_person_are_together(tmp_path):
    entries = collect_zip(
        tmp_path,
        ("Ana_1_assignsubmission_onlinetext_/onlinetext.html", b"<p>hola</p>"),
        ("Ana_1" + FILE + "/tarea.ipynb", NOTEBOOK),
        ("Ana_2_assignsubmission_onlinetext_/onlinetext.html", b"<p>hola</p>"),
        ("Ana_3" + FILE + "/", b""),
        ("Ana_4" + FILE + "/tarea.docx", b"PK"),
        ("Ana_4" + FILE + "/tarea.rar", b"Rar!"),
    )
    found = {e.participant: e.content for e in entries}
    assert len(entries) == 4, "el texto en línea no es otra persona"
    assert found == {
        "1": NOTEBOOK,
        "2": "la entrega es un texto escrito en la página de la tarea, sin ningún cuaderno",
        "3": "la entrega no tiene ningún archivo",
        "4": "la entrega es «tarea.rar»: hace falta el cuaderno (.ipynb), o un ZIP que lo tenga",
    }


@pytest.mark.parametrize("encoding", ["cp437", "cp1252", "cp850", "utf-8"])
@pytest.mark.parametrize("name", ["José Núñez", "Inés Güell", "María Ibáñez"])
def test_names_without_the_utf8_flag_keep_their_accents(tmp_path, name, encoding):
    raw = f"{name}_1{FILE}/acción.ipynb".encode(encoding)
    path = write_zip(tmp_path / "m.zip", [("@" * len(raw), NOTEBOOK)])
    path.write_bytes(path.read_bytes().replace(b"@" * len(raw), raw))
    entry = only(collect(path))
    assert (entry.student, entry.source) == (name, "acción.ipynb")


def test_loose_accents_are_the_same_name(tmp_path):
    name = unicodedata.normalize("NFD", "Ángela Muñoz")
    entry = only(collect_zip(tmp_path, (f"{name}_8{FILE}/solución.ipynb", NOTEBOOK)))
    assert entry.student == "Ángela Muñoz" and entry.folder == f"Ángela Muñoz_8{FILE}"


@pytest.mark.parametrize(
    "name", ["solucion.txt", "tarea.ipynb.txt", "tarea.json", "tarea", "T.IPYNB", "a.ipynb.bak"]
)
def test_a_notebook_with_another_name_is_read(tmp_path, name):
    content = b"\xef\xbb\xbf \n" + NOTEBOOK
    assert only(collect_zip(tmp_path, (f"A_1{FILE}/{name}", content))).content == content


def test_other_files_beside_the_notebook_are_left_out(tmp_path):
    folder = f"A_1{FILE}"
    files = {"datos.json": b'{"a": 1}', "foto.png": b"\x89PNG", "l.py": b"x", "t.ipynb": NOTEBOOK}
    entry = only(collect_zip(tmp_path, *((f"{folder}/{n}", c) for n, c in files.items())))
    assert entry.source == "t.ipynb"


def test_system_files_are_ignored(tmp_path):
    members = [
        ("__MACOSX/", b""),
        ("__MACOSX/A_1" + FILE + "/._t.ipynb", b"x"),
        ("A_1" + FILE + "/._t.ipynb", b"x"),
        ("A_1" + FILE + "/.ipynb_checkpoints/t-checkpoint.ipynb", NOTEBOOK),
        ("A_1" + FILE + "/Thumbs.db", b"x"),
        ("A_1" + FILE + "/t.ipynb", NOTEBOOK),
    ]
    assert only(collect_zip(tmp_path, *members)).source == "t.ipynb"


def test_repeated_files_are_all_kept(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate"):
        entries = collect_zip(
            tmp_path,
            (f"Ana_1{FILE}/t.ipynb", NOTEBOOK),
            (f"Ana_1{FILE}/t.ipynb", NOTEBOOK + b" "),
            (f"Ana_1{FILE}/t (1).ipynb", NOTEBOOK),
            (f"Ana_2{FILE}/t.ipynb", NOTEBOOK),
        )
    assert Counter(e.participant for e in entries) == {"1": 3, "2": 1}
    assert len({e.key for e in entries}) == 4


def test_a_zip_of_a_folder_is_the_folder(tmp_path):
    entries = collect_zip(
        tmp_path, ("clase/", b""), ("clase/ana.ipynb", NOTEBOOK), ("clase/b/x.ipynb", NOTEBOOK)
    )
    assert [e.student for e in entries] == ["ana", "b"]
    entries = collect_zip(
        tmp_path,
        (f"clase/Ana_1{FILE}/x.ipynb", NOTEBOOK),
        (f"clase/Eva_2{FILE}/x.ipynb", NOTEBOOK),
    )
    assert [e.participant for e in entries] == ["1", "2"]
    entry = only(collect_zip(tmp_path, ("ana/x.ipynb", NOTEBOOK)))
    assert entry.student == "ana"


def test_windows_separators_are_separators(tmp_path):
    entry = only(collect_zip(tmp_path, (f"Ana_1{FILE}\\sub\\t.ipynb", NOTEBOOK)))
    assert (entry.student, entry.source) == ("Ana", "sub/t.ipynb")


# El ZIP de un estudiante


def test_a_notebook_in_the_student_zip_is_read(tmp_path):
    inner = zip_bytes(("Entrega/t.ipynb", NOTEBOOK), ("__MACOSX/Entrega/._t.ipynb", b"x"))
    entry = only(collect_zip(tmp_path, (f"Ana_1{FILE}/mi.zip", inner)))
    assert (entry.source, entry.content) == ("mi.zip/Entrega/t.ipynb", NOTEBOOK)


def test_nobody_can_deliver_in_the_name_of_another(tmp_path):
    forged = (f"Eva_2{FILE}/t.ipynb", NOTEBOOK)
    entries = collect_zip(
        tmp_path,
        (f"Ana_1{FILE}/mi.zip", zip_bytes(forged)),
        (f"Ana_1{FILE}/../Eva_2{FILE}/t.ipynb", NOTEBOOK),
        (f"Ana_1{FILE}/Eva_2{FILE}/t.ipynb", NOTEBOOK),
    )
    assert {(e.student, e.participant) for e in entries} == {("Ana", "1")}
    (tmp_path / f"clase/ana/Eva_2{FILE}").mkdir(parents=True)
    (tmp_path / f"clase/ana/Eva_2{FILE}/t.ipynb").write_bytes(NOTEBOOK)
    assert only(collect(tmp_path / "clase")).student == "ana"


@pytest.mark.parametrize(
    "content, reason",
    [
        (zip_bytes(("t.ipynb", NOTEBOOK))[:-30], "dañado"),
        (b"no es un ZIP", "dañado"),
        (zip_bytes(("a.txt", b"x")), "la entrega no tiene ningún cuaderno"),
        (zip_bytes(("a.zip", zip_bytes(("b.zip", zip_bytes(("t.ipynb", NOTEBOOK)))))), "ZIP"),
    ],
)
def test_a_student_zip_that_cannot_be_read_says_why(tmp_path, content, reason):
    other = (f"Eva_2{FILE}/t.ipynb", NOTEBOOK)
    entries = collect_zip(tmp_path, (f"Ana_1{FILE}/mi.zip", content), other)
    assert reason in reasons(entries)["Ana"]
    assert [e.content for e in entries if e.student == "Eva"] == [NOTEBOOK]


def test_a_zip_inside_another_is_opened_once(tmp_path):
    inner = zip_bytes(("b.zip", zip_bytes(("t.ipynb", NOTEBOOK))))
    assert only(collect_zip(tmp_path, (f"A_1{FILE}/a.zip", inner))).content == NOTEBOOK


# Lo hostil


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd.ipynb", "../../../etc/passwd.ipynb", "C:\\Windows\\x.ipynb", "..\\..\\x.ipynb"],
)
def test_paths_out_of_the_folder_write_nothing(tmp_path, name):
    before = sorted(tmp_path.iterdir())
    entry = only(collect_zip(tmp_path, (f"Ana_1{FILE}/{name}", NOTEBOOK)))
    assert entry.content == NOTEBOOK and ".." not in entry.source.split("/")
    assert re.fullmatch(r"[a-z0-9-]+", entry.key)
    assert sorted(tmp_path.iterdir()) == [*before, tmp_path / "entregas.zip"]


def test_links_and_devices_in_a_zip_are_not_files(tmp_path):
    kinds = {"enlace": stat.S_IFLNK, "tubo": stat.S_IFIFO, "disco": stat.S_IFBLK}
    members = []
    for index, (name, kind) in enumerate(kinds.items()):
        member = zipfile.ZipInfo(f"{name}_{index}{FILE}/t.ipynb")
        member.external_attr = (kind | 0o777) << 16
        members.append((member, b"/etc/passwd"))
    link, other = "la entrega es un enlace", "la entrega no es un archivo normal"
    found = reasons(collect_zip(tmp_path, *members))
    assert found == {"enlace": link, "tubo": other, "disco": other}


def test_what_does_not_fit_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "MAX_FILE", 1 << 20)
    bomb = b"0" * (3 << 20)
    entries = collect_zip(
        tmp_path,
        (f"Ana_1{FILE}/t.ipynb", bomb),
        (f"Eva_2{FILE}/t.txt", b"{" + bomb),
        (f"Luz_3{FILE}/t.ipynb", NOTEBOOK),
    )
    assert reasons(entries)["Ana"] == "el archivo pasa de 1 MB: quítale las salidas"
    assert "sino «t.txt»" in reasons(entries)["Eva"]
    assert "Luz" not in reasons(entries)


def test_a_false_size_does_not_help(tmp_path):
    path = write_zip(tmp_path / "m.zip", [(f"A_1{FILE}/t.ipynb", b"0" * 50_000)])
    content = path.read_bytes()
    assert content.count(struct.pack("<L", 50_000)) == 2
    path.write_bytes(content.replace(struct.pack("<L", 50_000), struct.pack("<L", 10)))
    assert "dañado" in only(collect(path)).content


def test_all_that_one_person_delivers_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "MAX_STUDENT", 1 << 20)
    half = NOTEBOOK + b" " * (600 << 10)
    entries = collect_zip(
        tmp_path,
        (f"Ana_1{FILE}/a.ipynb", half),
        (f"Ana_1{FILE}/b.ipynb", half),
        (f"Eva_2{FILE}/t.ipynb", half),
    )
    assert reasons(entries) == {"Ana": "lo entregado pasa de 1 MB en total"}
    assert [e.participant for e in entries if e.content == half] == ["1", "2"]


def test_thousands_of_notebooks_are_cut_short(tmp_path):
    many = [(f"Ana_1{FILE}/{i}.ipynb", NOTEBOOK) for i in range(1000)]
    entries = collect_zip(tmp_path, *many, (f"Eva_2{FILE}/t.ipynb", NOTEBOOK))
    assert Counter(e.student for e in entries) == {"Ana": collection.MAX_NOTEBOOKS + 1, "Eva": 1}
    assert "más de 30 cuadernos" in reasons(entries)["Ana"]


def test_a_zip_with_too_many_members_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(delivered, "MAX_INNER_MEMBERS", 50)
    crowd = zip_bytes(*((f"{i}.txt", b"") for i in range(51)))
    entries = collect_zip(tmp_path, (f"A_1{FILE}/m.zip", crowd), (f"B_2{FILE}/t.ipynb", NOTEBOOK))
    assert reasons(entries) == {"A": "el ZIP tiene más de 50 archivos"}
    monkeypatch.setattr(delivered, "MAX_MEMBERS", 1)
    with pytest.raises(CollectionError, match="más de 1 archivos"):
        collect(tmp_path / "entregas.zip")


def test_many_zips_are_not_all_opened(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(
        collection,
        "inner_files",
        lambda content: opened.append(1) or delivered.inner_files(content),
    )
    empty = zip_bytes(("a.txt", b"x"))
    collect_zip(tmp_path, *((f"A_1{FILE}/{i}.zip", empty) for i in range(200)))
    assert len(opened) == 20


def test_encrypted_and_rare_compressions_say_why(tmp_path):
    path = write_zip(tmp_path / "m.zip", [(f"A_1{FILE}/t.ipynb", NOTEBOOK)])
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert only(collect(path)).content == "el archivo está protegido con contraseña"
    path = write_zip(path, [(f"A_1{FILE}/t.ipynb", NOTEBOOK)], zipfile.ZIP_LZMA)
    assert only(collect(path)).content == "el ZIP usa una compresión que no se admite"


def test_damaged_content_says_why(tmp_path):
    path = write_zip(tmp_path / "m.zip", [(f"A_1{FILE}/t.ipynb", os.urandom(2000))])
    content = bytearray(path.read_bytes())
    content[500:600] = bytes(100)
    path.write_bytes(content)
    assert only(collect(path)).content == "el archivo está dañado o no se puede leer"


@pytest.mark.parametrize(
    "name, shown",
    [
        ("Ana\x1b[2J\n\r\tGarcía", "Ana [2J García"),
        ("Ana\u202egpj.\u200bipynb", "Anagpj.ipynb"),
        ("A" * 300, "A" * 119 + "…"),
        ("\u202e\u200f", "Participante 1"),
        ("=cmd|'/c calc'!A1", "=cmd|'/c calc'!A1"),
        ("<script>alert(1)</script>", "<script>alert(1)<"),
    ],
)
def test_names_are_shown_in_one_clean_line(tmp_path, name, shown):
    if "/" in name:
        name = name.split("/", 1)[0]
        shown = clean_name(name)
    entry = only(collect_zip(tmp_path, (f"{name}_1{FILE}/t.ipynb", NOTEBOOK)))
    assert entry.student == shown
    assert re.fullmatch(r"[a-z0-9-]{1,150}", entry.key)
    assert not re.search(r'[\\/:*?"<>|\x00-\x1f\u202e]', entry.folder)


# Lo que no es una entrega


def test_what_is_not_a_delivery_says_what_to_do(tmp_path):
    def message(path):
        with pytest.raises(CollectionError) as error:
            collect(path)
        return str(error.value)

    assert "No existe" in message(tmp_path / "nada")
    (tmp_path / "vacía").mkdir()
    assert "no tiene entregas" in message(tmp_path / "vacía")
    (tmp_path / "texto.zip").write_bytes(b"hola")
    assert "no es un ZIP" in message(tmp_path / "texto.zip")
    (tmp_path / "nada.zip").write_bytes(b"")
    assert "no es un ZIP" in message(tmp_path / "nada.zip")
    whole = write_zip(tmp_path / "m.zip", [(f"A_1{FILE}/t.ipynb", NOTEBOOK)]).read_bytes()
    (tmp_path / "cortado.zip").write_bytes(whole[:-40])
    assert "incompleto: vuelve a descargarlo" in message(tmp_path / "cortado.zip")
    assert "no tiene entregas" in message(write_zip(tmp_path / "vacío.zip", []))
    (tmp_path / "solo.ipynb").write_bytes(NOTEBOOK)
    assert "course check" in message(tmp_path / "solo.ipynb")
    (tmp_path / "fotos").mkdir()
    (tmp_path / "fotos/a.png").write_bytes(b"\x89PNG")
    assert "ningún cuaderno" in message(tmp_path / "fotos")
    os.mkfifo(tmp_path / "tubo")
    assert "no es una carpeta ni un ZIP" in message(tmp_path / "tubo")


# Las claves y los estudiantes


def test_keys_do_not_depend_on_the_others(tmp_path):
    students = make_class(count=12)
    (tmp_path / "a.zip").write_bytes(class_zip(students))
    (tmp_path / "b.zip").write_bytes(class_zip(students[:5] + students[7:]))
    first, second = collect(tmp_path / "a.zip"), collect(tmp_path / "b.zip")
    assert first == collect(tmp_path / "a.zip")
    assert {e.key for e in second} < {e.key for e in first}
    assert {(e.key, e.participant) for e in second} <= {(e.key, e.participant) for e in first}


@pytest.mark.parametrize("folders", [True, False])
def test_the_made_up_class_is_read_whole(tmp_path, folders):
    students = make_class()
    (tmp_path / "m.zip").write_bytes(class_zip(students, folders=folders))
    entries = collect(tmp_path / "m.zip")
    assert {e.participant for e in entries} == {str(s.number) for s in students}
    names = {str(s.number): s.name for s in students}
    assert all(e.student == names[e.participant] for e in entries)
    silent = {"João Conceição", "Bruno Castaño", "Hernán Acuña"}
    assert set(reasons(entries)) == silent, reasons(entries)
    assert len({e.key for e in entries}) == len(entries) == 31 + (not folders)


def test_two_people_without_a_number_are_not_mixed(tmp_path):
    (tmp_path / "José.ipynb").write_bytes(NOTEBOOK)
    (tmp_path / unicodedata.normalize("NFD", "José.ipynb")).write_bytes(NOTEBOOK)
    entries = collect(tmp_path)
    assert [e.student for e in entries] == ["José", "José (2)"]
    assert len({e.owner for e in entries}) == 2


def test_a_number_in_the_name_is_not_the_number_of_another(tmp_path):
    people = [("Ana", 45), ("Ana 4", 5), ("Ana 45", 5), ("Ana-4", 25), ("Participante", 46)]
    members = [(f"{name}_{number}{FILE}/t.ipynb", NOTEBOOK) for name, number in people]
    entries = collect_zip(tmp_path, *members[:2], *members[3:])
    assert len({e.owner for e in entries}) == 4
    assert "participante-46" in {e.owner for e in entries}
    first = Entry("Ana", "k", "t", b"", "45")
    assert first.owner != Entry("Ana 45", "k", "t", b"", "5").owner


def test_keys_made_to_coincide_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "short_hash", lambda *parts: "0" * 8)
    (tmp_path / "ana").mkdir()
    for name in ("t.ipynb", "t_.ipynb"):
        (tmp_path / "ana" / name).write_bytes(NOTEBOOK)
    assert [e.key for e in collect(tmp_path)] == ["ana-t-00000000", "ana-t-00000000-2"]


def test_a_name_made_to_coincide_is_not_the_same_person():
    # Mismo `slug`, y las mismas ocho primeras cifras de su resumen.
    names = ("ana.,.,,,,,,,,,,.,.....", "ana.,....,.,,,.,,.,....")
    assert len({Entry(name, "k", "t", b"").owner for name in names}) == 2


def test_names_without_latin_letters_have_their_own_keys(tmp_path):
    entries = collect_zip(tmp_path, ("李/t.ipynb", NOTEBOOK), ("王/t.ipynb", NOTEBOOK))
    assert len({e.key for e in entries}) == len({e.owner for e in entries}) == 2
    assert all(e.key.startswith("estudiante-t-") for e in entries)


# Nombres, en general

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(names.filter(lambda t: "_assignsubmission_" not in t), st.integers(0, 10**15))
def test_a_moodle_name_gives_back_its_person_and_number(name, number):
    name = clean_name(name.replace("_", " ")) or "x"
    anonymous = re.fullmatch(r"(participante?)?\s*[0-9]*", name, re.IGNORECASE)
    for suffix in ("", "_", "_tarea_1.ipynb"):
        found = parse_moodle_name(f"{name}_{number}_assignsubmission_file{suffix}")
        assert found.number == str(number)
        assert found.student == name or anonymous
        assert found.folder.split("_", 4)[1:] == [str(number), "assignsubmission", "file", ""]
        assert not re.search(r'[\\/:*?"<>|]', found.folder)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(names, names), min_size=1, max_size=5))
def test_any_names_give_unique_safe_keys(tmp_path, pairs):
    members = [(zipfile.ZipInfo(f"{i}/{a}/{b}.ipynb"), NOTEBOOK) for i, (a, b) in enumerate(pairs)]
    members.append((zipfile.ZipInfo("z/t.ipynb"), NOTEBOOK))
    path = tmp_path / "n.zip"
    path.unlink(missing_ok=True)
    entries = collect(write_zip(path, members))
    keys = [e.key for e in entries]
    assert len(set(keys)) == len(keys)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key) for key in keys), keys
    assert entries == collect(path)
