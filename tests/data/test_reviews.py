"""Las reseñas en el formato de IMDB: archivos buenos, cortados y hechos para hacer daño."""

import gzip
import io
import tarfile

import pytest

from course_lib.data import reviews
from course_lib.data.opinions import generate_opinions
from course_lib.data.reviews import Review, load_reviews, parse_review_path, write_reviews

FILES = {
    "aclImdb/README": "Esto no es una reseña.",
    "aclImdb/train/pos/0_9.txt": "Muy buena.<br /><br />La vería otra vez.",
    "aclImdb/train/pos/10_7.txt": "Entretenida.",
    "aclImdb/train/pos/9_10.txt": "Magnífica: ñandú, acción.",
    "aclImdb/train/neg/0_2.txt": "Aburrida.",
    "aclImdb/train/unsup/0_0.txt": "Sin etiqueta.",
    "aclImdb/train/urls_pos.txt": "http://ejemplo",
    "aclImdb/test/pos/0_8.txt": "Recomendable.",
    "aclImdb/test/neg/0_1.txt": "Pésima.",
    "aclImdb/test/neg/._0_1.txt": "basura del sistema",
}
TRAIN = [
    Review("Aburrida.", 0, 2, 0),
    Review("Muy buena.\n\nLa vería otra vez.", 1, 9, 0),
    Review("Magnífica: ñandú, acción.", 1, 10, 9),
    Review("Entretenida.", 1, 7, 10),
]
TEST = [Review("Pésima.", 0, 1, 0), Review("Recomendable.", 1, 8, 0)]


def archive(path, files=FILES, extra=(), edit=None):
    """Un .tar.gz con esos archivos, y `extra` miembros (TarInfo) sin contenido."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        folder = tarfile.TarInfo("aclImdb")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name, text in files.items():
            content = text if isinstance(text, bytes) else text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in extra:
            tar.addfile(member)
    raw = buffer.getvalue()
    path.write_bytes(gzip.compress(edit(raw) if edit else raw))
    return path


def folder(path, files=FILES):
    for name, text in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def table(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# --------------------------------------------------------------------------- lo que se lee


def test_an_archive_and_a_folder_give_the_same_reviews(tmp_path):
    packed, loose = archive(tmp_path / "aclImdb_v1.tar.gz"), folder(tmp_path / "suelta")
    for source in (packed, loose, loose / "aclImdb", str(packed)):
        assert load_reviews(source) == load_reviews(source, "train") == TRAIN
        assert load_reviews(source, "test") == TEST


def test_nothing_is_extracted(tmp_path):
    path = archive(tmp_path / "a.tar.gz")
    load_reviews(path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'review,sentiment\n"Buena, sí.<br />Otra.",positive\nMala.,negative\n',
            [Review("Mala.", 0, None, 2), Review("Buena, sí.\nOtra.", 1, None, 1)],
        ),
        (
            '\ufeffsplit,text,label,rating\ntest,A.,1,8\ntrain,B.,1,²\ntrain,"C\nD",0,3\n',
            [Review("C\nD", 0, 3, 3), Review("B.", 1, None, 2)],
        ),
        ("Text,Label\nA.,negativa\nB.,POS\n", [Review("A.", 0, None, 1), Review("B.", 1, None, 2)]),
        (
            "text,label,split,rating\n\nA.,0,Train,²\nB.,1,TRAIN,\n\n",
            [Review("A.", 0, None, 1), Review("B.", 1, None, 2)],
        ),
    ],
)
def test_csv_tables(tmp_path, text, expected):
    assert load_reviews(table(tmp_path / "r.csv", text)) == expected


def test_a_path_says_label_number_and_rating():
    assert parse_review_path("test/pos/12_9.txt") == (1, 12, 9)
    assert parse_review_path("aclImdb/train/neg/0_5.txt") == (0, 0, 5)
    for bad in (
        "pos/12.txt",
        "12_9.txt",
        "test/pos/12_11.txt",
        "test/pos/12_0.txt",
        "test/pos/a_9.txt",
    ):
        with pytest.raises(ValueError, match=r"test/pos/12_9\.txt"):
            parse_review_path(bad)
    for bad in ("pos/1_5.txt", "neg/1_6.txt"):
        with pytest.raises(ValueError, match="contradice a su carpeta"):
            parse_review_path(bad)


# --------------------------------------------------------------------------- lo que se rechaza


def member(name, kind=tarfile.REGTYPE, **fields):
    info = tarfile.TarInfo(name)
    info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (member("../../fuera.txt"), "sale de su carpeta"),
        (member("aclImdb/train/../../../pos/0_9.txt"), "sale de su carpeta"),
        (member("/etc/passwd"), "sale de su carpeta"),
        (member("..\\fuera.txt"), "sale de su carpeta"),
        (member("C:/fuera.txt"), "sale de su carpeta"),
        (member("aclImdb/x", tarfile.SYMTYPE, linkname="/etc/passwd"), "enlace o un dispositivo"),
        (member("aclImdb/x", tarfile.LNKTYPE, linkname="README"), "enlace o un dispositivo"),
        (member("aclImdb/x", tarfile.CHRTYPE), "enlace o un dispositivo"),
        (member("aclImdb/x", tarfile.FIFOTYPE), "enlace o un dispositivo"),
        (member("aclImdb/train/pos/0_9.txt"), "dos veces la reseña aclImdb/train/pos/0_9.txt"),
        (member("aclImdb/train/pos/nota.txt"), "llegó «aclImdb/train/pos/nota.txt»"),
        (member("aclImdb/train/neg/5_9.txt"), "contradice a su carpeta"),
    ],
    ids=lambda value: value.name if isinstance(value, tarfile.TarInfo) else "",
)
def test_hostile_and_misplaced_members_are_refused(tmp_path, extra, message):
    with pytest.raises(ValueError, match=message):
        load_reviews(archive(tmp_path / "malo.tar.gz", extra=[extra]))


def test_absurd_sizes_are_refused_without_reading_them(tmp_path, monkeypatch):
    big = FILES | {"aclImdb/train/pos/7_9.txt": b"a" * (reviews.REVIEW_BYTES + 1)}
    with pytest.raises(ValueError, match="pesa 1048577 bytes"):
        load_reviews(archive(tmp_path / "grande.tar.gz", big))
    with pytest.raises(ValueError, match="pesa 1048577 bytes"):
        load_reviews(folder(tmp_path / "grande", big))
    # Una cabecera que promete 64 GiB: se rechaza al leerla, no al recorrer el contenido.
    huge = member("aclImdb/train/vocabulario", size=2**36)
    promised = archive(tmp_path / "p.tar.gz", edit=lambda raw: huge.tobuf() + raw)
    with pytest.raises(ValueError, match="de 2048 MiB"):
        load_reviews(promised)
    monkeypatch.setattr(reviews, "MEMBERS", 5)
    with pytest.raises(ValueError, match="más de 5 elementos"):
        load_reviews(archive(tmp_path / "muchos.tar.gz"))


def test_a_huge_extended_header_is_refused_before_it_fills_the_memory(tmp_path):
    header = member("x", tarfile.XHDTYPE, size=64 * 2**20)
    bomb = archive(tmp_path / "b.tar.gz", edit=lambda raw: header.tobuf() + bytes(2**20) + raw)
    with pytest.raises(ValueError, match="cabecera de más de 4096 bytes"):
        load_reviews(bomb)


def test_headers_made_to_exhaust_the_parser_are_refused(tmp_path):
    # Un mebibyte de cifras: las expresiones regulares de tarfile tardan lo que su cuadrado.
    digits = member("x", tarfile.XHDTYPE, size=2**20).tobuf() + b"1" * 2**20
    slow = archive(tmp_path / "lento.tar.gz", edit=lambda raw: digits + raw)
    with pytest.raises(ValueError, match="cabecera de más de 4096 bytes"):
        load_reviews(slow)
    # Una cabecera extendida detrás de otra: tarfile las lee con recursión.
    chain = member("x", tarfile.XHDTYPE).tobuf() * 5000
    deep = archive(tmp_path / "hondo.tar.gz", edit=lambda raw: chain + raw)
    with pytest.raises(ValueError, match="cortado o dañado"):
        load_reviews(deep)


@pytest.mark.parametrize("keep", [0.0, 0.02, 0.3, 0.6, 0.9, 0.99])
def test_a_download_cut_short_is_refused(tmp_path, keep):
    whole = archive(tmp_path / "a.tar.gz").read_bytes()
    cut = table(tmp_path / "b.tar.gz", whole[: int(keep * len(whole))])
    with pytest.raises(ValueError, match=r"cortado o dañado|no es un archivo \.tar\.gz"):
        load_reviews(cut)


@pytest.mark.parametrize(
    "edit",
    [
        lambda raw: raw[: 512 * 13],  # el tar acaba entre dos miembros
        lambda raw: raw[: 512 * 13 + 100],  # a mitad de una cabecera
        lambda raw: raw[: 512 * 14 + 3],  # a mitad de un contenido
        lambda raw: raw[: 512 * 13] + b"?" * 512 + raw[512 * 14 :],  # una cabecera estropeada
        lambda raw: raw + b"sobra",
    ],
)
def test_a_damaged_tar_inside_a_sound_gzip_is_refused(tmp_path, edit):
    """`tarfile` se detiene ahí sin decir nada: se perderían reseñas en silencio."""
    with pytest.raises(ValueError, match="cortado o dañado"):
        load_reviews(archive(tmp_path / "a.tar.gz", edit=edit))


def test_a_flipped_bit_is_noticed(tmp_path):
    path = archive(tmp_path / "a.tar.gz")
    content = bytearray(path.read_bytes())
    content[-6] ^= 1  # la suma de comprobación del final
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"no es un archivo \.tar\.gz, o está dañado"):
        load_reviews(path)


@pytest.mark.parametrize("name", ["a.tar.gz", "a.txt"])
def test_something_else_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"no es un archivo \.tar\.gz"):
        load_reviews(table(tmp_path / name, "hola" * 400))


def test_other_encodings_are_refused_by_name(tmp_path):
    latin = FILES | {"aclImdb/train/pos/7_9.txt": "acción".encode("latin-1")}
    for source in (archive(tmp_path / "l.tar.gz", latin), folder(tmp_path / "l", latin)):
        with pytest.raises(ValueError, match=r"pos/7_9.txt no es texto UTF-8"):
            load_reviews(source)


def test_links_in_a_folder_are_refused(tmp_path):
    path = folder(tmp_path / "f")
    (path / "aclImdb/train/pos/5_9.txt").symlink_to("/etc/hostname")
    with pytest.raises(ValueError, match="no es un archivo común"):
        load_reviews(path)


def test_an_empty_or_partial_source_says_what_is_missing(tmp_path):
    (tmp_path / "vacía").mkdir()
    with pytest.raises(ValueError, match="«neg» ni «pos» en la parte «train»"):
        load_reviews(tmp_path / "vacía")
    half = {name: text for name, text in FILES.items() if "neg" not in name}
    with pytest.raises(ValueError, match="«neg» en la parte «test»"):
        load_reviews(archive(tmp_path / "a.tar.gz", half), "test")
    with pytest.raises(FileNotFoundError, match=r"ai\.stanford\.edu"):
        load_reviews(tmp_path / "nada.tar.gz")


@pytest.mark.usefixtures("as_user")
def test_an_unknown_split_is_refused(tmp_path):
    with pytest.raises(ValueError, match='"train" o "test" y llegó \'dev\''):
        load_reviews(tmp_path, "dev")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("texto,etiqueta\nA,1\n", "debe nombrar las columnas"),
        ("", "debe nombrar las columnas"),
        ("text,label\nA,1\nB\n", "La fila 2 "),
        ("text,label\nA,1,2\n", "La fila 1 "),
        ("text,label\nA,quizá\n", "La fila 1 "),
        ('text,label\nA,1\nB,0\n"cortada a mitad', "está cortado"),
        ("text,label\nacción,1\n".encode("latin-1"), "no es un CSV en UTF-8"),
        ("text,label\nA,1\n", "no tiene reseñas «neg» .* filas de las dos etiquetas"),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        load_reviews(table(tmp_path / "r.csv", text))


# --------------------------------------------------------------------------- lo que se escribe


@pytest.mark.parametrize("name", ["opiniones.tar.gz", "otra/o.tgz"])
def test_what_is_written_can_be_read(tmp_path, name):
    path = write_reviews(tmp_path / name, train=60, test=30, seed=4)
    for split, held_out, count in (("train", False, 60), ("test", True, 30)):
        expected = generate_opinions(count, 4, held_out=held_out)
        found = load_reviews(path, split)
        assert len(found) == count
        for review in found:
            opinion = expected[review.number]
            assert review.text == opinion.text
            assert review.label == (opinion.sentiment == "positiva")
        assert all((review.rating > 5) == bool(review.label) for review in found)
        assert {review.text for review in found} == {opinion.text for opinion in expected}


def test_the_layout_is_that_of_imdb(tmp_path):
    path = write_reviews(tmp_path / "o.tar.gz", train=20, test=20)
    with tarfile.open(path) as tar:
        names = tar.getnames()
    assert len(names) == 40
    for name in names:
        root, split, label, _ = name.split("/")
        assert root == "aclImdb" and split in ("train", "test") and label in ("pos", "neg")
        assert parse_review_path(name)


def test_the_same_bytes_every_time_and_replaced_at_once(tmp_path):
    path = write_reviews(tmp_path / "o.tar.gz", train=20, test=20)
    first = path.read_bytes()
    assert write_reviews(path, train=20, test=20).read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disco lleno")

    monkeypatch.setattr(reviews.Path, "replace", fail)
    with pytest.raises(OSError, match="disco lleno"):
        write_reviews(tmp_path / "o.tar.gz", train=5, test=5)
    assert list(tmp_path.iterdir()) == []


def test_only_an_archive_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"se esperaba un \.tar\.gz y llegó"):
        write_reviews(tmp_path / "o", train=5, test=5)
