"""Los catálogos de mensajes: lo que se lee, lo que se deja y cómo se aparta."""

import io

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import write_po
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data.messages import (
    Message,
    _clean,
    installed_messages,
    read_messages,
    split_messages,
)

ENTRIES = [
    ("_Open file", "_Abrir el archivo"),
    ("Read the &manual", "Leer el &manual"),
    ("use max_length here", "usa max_length aquí"),
    ("Cut & paste", "Cortar & pegar"),
    ("two\n  lines", "dos\nrenglones"),
    (("one page", "%d pages"), ("una página", "%d páginas")),
    ("OK", "OK"),  # igual en los dos
    ("%d %s", "%s %d"),  # sin palabras
    ("not yet", ""),
]
READ = [
    ("%d pages", "%d páginas"),
    ("Cut & paste", "Cortar & pegar"),
    ("Open file", "Abrir el archivo"),
    ("Read the manual", "Leer el manual"),
    ("one page", "una página"),
    ("two lines", "dos renglones"),
    ("use max_length here", "usa max_length aquí"),
]


def write_catalogue(path, entries):
    catalogue = Catalog(locale="es")
    for english, spanish in entries:
        catalogue.add(english, spanish)
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = write_mo if path.suffix == ".mo" else write_po
    buffer = io.BytesIO()
    kind(buffer, catalogue)
    path.write_bytes(buffer.getvalue())
    return path


@pytest.mark.parametrize("kind", [".mo", ".po"])
def test_reads_what_a_program_says(kind, tmp_path):
    path = write_catalogue(tmp_path / f"editor{kind}", ENTRIES)
    found = read_messages(path)
    assert sorted(message[:2] for message in found) == READ
    assert {message.catalogue for message in found} == {"editor"}


def test_doubtful_translations_do_not_count(tmp_path):
    path = tmp_path / "editor.po"
    path.write_text('#, fuzzy\nmsgid "a cat"\nmsgstr "un perro"\n', "utf-8")
    assert read_messages(path) == []


@pytest.mark.parametrize(
    ("name", "content"), [("a.mo", b"not a catalogue"), ("b.mo", b""), ("missing.mo", None)]
)
def test_a_damaged_catalogue_says_which(name, content, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name}: se esperaba un catálogo"):
        read_messages(tmp_path / name)


def test_installed_messages_come_once_and_without_names(tmp_path):
    folder = tmp_path / "es" / "LC_MESSAGES"
    write_catalogue(folder / "b.mo", [("red car", "coche rojo"), ("blue car", "coche azul")])
    write_catalogue(folder / "a.mo", [("red car", "coche rojo")])
    write_catalogue(folder / "iso_3166.mo", [("Spain", "España")])
    (folder / "broken.mo").write_bytes(b"no")
    assert installed_messages([tmp_path]) == [
        Message("red car", "coche rojo", "a"),
        Message("blue car", "coche azul", "b"),
    ]
    with pytest.raises(ValueError, match="no hay ninguno"):
        installed_messages([tmp_path / "none"])


def messages_of(catalogues):
    return [
        Message(f"text {i} {j}", f"texto {i} {j}", name)
        for i, name in enumerate(catalogues)
        for j in range(3)
    ]


@given(st.integers(0, 50), st.sampled_from([0.1, 0.2, 0.3]))
def test_families_stay_whole(seed, apart):
    names = [f"{a}{b}prog-{part}" for a in "abcd" for b in "wxyz" for part in (1, 2)]
    groups = split_messages(messages_of(names), apart=apart, seed=seed)
    families = [{message.catalogue.split("-")[0] for message in group} for group in groups]
    assert [len(f) for f in families[1:]] == [round(16 * apart)] * 2
    assert sum(map(len, families)) == len(set().union(*families)) == 16
    assert sum(map(len, groups)) == 3 * len(names)


def test_what_was_read_before_does_not_measure():
    names = [f"{a}{a}{a}{a}" for a in "abcdefghij"]
    shared = [Message("Save as…", "Guardar como", name) for name in names]
    again = [Message("save AS", "Guardar con otro nombre", name) for name in names]
    train, validation, test = split_messages(messages_of(names) + shared + again, apart=0.2)
    assert {m.english for m in train} > {"Save as…", "save AS"}
    assert not {m.english for m in validation + test} & {"Save as…", "save AS"}
    with pytest.raises(ValueError, match="hacen falta más catálogos"):
        split_messages(shared, apart=0.2)


@pytest.mark.parametrize(
    ("english", "spanish", "expected"),
    [
        ("E_xit", "_Salir", ("Exit", "Salir")),
        ("AT&T line", "línea AT&T", ("AT&T line", "línea AT&T")),
        ("~Copy", "~Copiar", ("Copy", "Copiar")),
        ("a" * 201, "b", None),
        ("no", "n" * 60, None),
    ],
)
def test_clean(english, spanish, expected):
    assert _clean(english, spanish) == expected
