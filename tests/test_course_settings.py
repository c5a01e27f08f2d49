"""`course.toml`: qué se puede decir en él, y qué se contesta a lo que no vale."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from course_lib.course_settings import (
    AS_IT_COMES,
    CourseSettingsError,
    chapters_of,
    find_course_settings,
    known_topics,
    logo_svg,
    read_course_settings,
    settings_in,
)
from course_lib.scales import SCALES

ROOT = Path(__file__).parents[1]
AS_IT_COMES_CHAPTERS = {page for topic in known_topics() for page in chapters_of(topic)}
LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
WHOLE = """
name = "Modelos de lenguaje"
institution = "Universidad de Ejemplo"
logo = "escudo.svg"
contact = "ana@ejemplo.edu"
topics = ["attention", "self_attention"]
scale = "1-7"
passing_at = 50
minimum = 1.5
"""


def read(folder, text):
    (folder / "escudo.svg").write_text(LOGO, encoding="utf-8")
    path = folder / "course.toml"
    path.write_text(text, encoding="utf-8")
    return read_course_settings(path)


def test_everything_can_be_changed(tmp_path):
    course = read(tmp_path, WHOLE)
    assert (course.name, course.institution) == ("Modelos de lenguaje", "Universidad de Ejemplo")
    assert course.logo == (tmp_path / "escudo.svg").resolve()
    assert course.contact_link == "mailto:ana@ejemplo.edu"
    assert course.includes("attention") and not course.includes("palm")
    assert (course.scale.passing_at, course.scale.minimum) == (Decimal(50), Decimal("1.5"))
    assert course.scale.passing == SCALES["1-7"].passing


def test_the_logo_can_be_a_png(tmp_path):
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes([0, 0, 2, 88, 0, 0, 0, 200]) + b"..."
    (tmp_path / "escudo.png").write_bytes(header)
    drawing = logo_svg(read(tmp_path, 'logo = "escudo.png"').logo)
    assert 'viewBox="0 0 600 200"' in drawing and "data:image/png;base64,iVBORw0KGgo" in drawing
    assert logo_svg(read(tmp_path, 'logo = "escudo.svg"').logo) == LOGO


def test_an_empty_file_changes_nothing(tmp_path):
    assert read(tmp_path, "") == AS_IT_COMES == settings_in(tmp_path / "otra")
    assert all(map(AS_IT_COMES.includes, known_topics()))


def test_the_name_it_comes_with_is_that_of_the_book():
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    theme = config["sphinx"]["config"]["html_theme_options"]
    assert config["title"] == theme["logo"]["text"] == AS_IT_COMES.name


def test_the_topics_are_those_with_a_notebook():
    assert known_topics() == sorted(p.stem for p in (ROOT / "exercises").glob("*.ipynb"))


def test_the_chapters_it_does_not_have(tmp_path):
    assert not AS_IT_COMES.absent_chapters
    course = read(tmp_path, 'topics = ["attention", "bert"]\nleave_out = ["probability"]')
    assert {"palm", "probability", "encoder"} <= course.absent_chapters
    assert not {"attention", "bert", "fine_tuning", "tensors"} & course.absent_chapters
    kept = read(tmp_path, 'topics = ["attention", "bert"]\nkeep = ["encoder"]')
    assert course.absent_chapters - kept.absent_chapters == {"encoder", "probability"}


def test_what_changes_the_site_changes_its_mark(tmp_path):
    texts = ["", 'name = "X"', 'topics = ["palm"]', 'leave_out = ["palm"]', 'contact = "a@b.es"']
    texts.append('topics = ["palm"]\nkeep = ["encoder"]')
    marks = [read(tmp_path, text).site_mark for text in texts]
    assert len(set(marks)) == len(marks)
    assert read(tmp_path, 'scale = "0-10"').site_mark == marks[0], "la escala no está en el sitio"


def test_the_one_of_this_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "course.toml").write_text('name = "El mío"', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert find_course_settings().name == "El mío"
    (tmp_path / "otro.toml").write_text('name = "El otro"', encoding="utf-8")
    assert find_course_settings(tmp_path / "otro.toml").name == "El otro"


def test_what_the_guide_shows_can_be_read(tmp_path):
    """El archivo de «Adoptar este curso», sus temas y sus escalas."""
    page = (ROOT / "book" / "adopt.md").read_text("utf-8")
    example, own, late = re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S)
    assert read(tmp_path, own).own_topics == tmp_path
    course = read(tmp_path, example + late)
    assert set(course.late.due) < set(course.topics)
    assert len(course.topics) == 4 and course.scale == SCALES["0-5"]
    assert set(course.keep) == set(course.keep) & AS_IT_COMES_CHAPTERS - course.absent_chapters
    assert re.findall(r'^\| `"(.+?)"`', page, re.M) == list(SCALES)


def test_the_guide_says_which_chapters_are_of_which_topic():
    page = (ROOT / "book" / "adopt.md").read_text("utf-8")
    _, by_topic, of_none = re.split(
        r"^\|---\|---\|\n", page.partition("## Tus propios")[0], flags=re.M
    )
    told = {}
    for topics, chapters in re.findall(
        r"^\| (.+) \| (.+) \|$", by_topic.partition("\n\n")[0], re.M
    ):
        named = set(re.findall(r"`(\w+)`", chapters))
        told |= {topic: named or {topic} for topic in re.findall(r"`(\w+)`", topics)}
    assert told == {topic: chapters_of(topic) for topic in known_topics()}
    pages = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.+?) \|", of_none, re.M)))
    assert all((ROOT / "book" / f"{name}.md").is_file() for name in pages)
    assert not set(pages) & AS_IT_COMES_CHAPTERS


def test_own_letters(tmp_path):
    text = 'scale = "letters"\npassing = "B"\nletters = { MB = 80, B = 50.5, I = 0 }'
    scale = read(tmp_path, text).scale
    assert scale.letters == {"MB": 80, "B": Decimal("50.5"), "I": 0} and scale.passing == "B"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nombre = 'x'", "`nombre`: no es ninguna de las claves, que son name, institution, logo"),
        ("name = ''", "`name`: se esperaba un texto de una línea, de 1 a 80 letras, y llegó «»"),
        ("name = 7", "y llegó 7."),
        ('institution = "a\\nb"', "`institution`: se esperaba un texto de una línea"),
        ("contact = 'ana'", "se esperaba un correo o una dirección (https://…), y llegó «ana»"),
        ("contact = 'javascript:alert(1)'", "se esperaba un correo"),
        ("logo = 'escudo.jpg'", "se esperaba el nombre de un archivo .svg o .png, y llegó «escu"),
        ("logo = 'no_esta.svg'", "`logo`: no existe «"),
        ("logo = '../fuera.svg'", "se esperaba un archivo que esté en"),
        ("logo = 'texto.svg'", "se esperaba un PNG, o un dibujo SVG con su `viewBox`"),
        ("logo = 'grande.svg'", "200 kB a lo sumo, porque va dentro de cada página, y llegó"),
        ("topics = []", "y llegó una lista"),
        ("topics = 'palm'", "se esperaba una lista con alguno de estos temas: attention, bert"),
        ("topics = ['gpt']", "y llegó «gpt»"),
        ("topics = ['palm', 'palm']", "se esperaba cada tema una sola vez, y llegó «palm»"),
        ("topics = [['palm']]", "y llegó una lista"),
        ("scale = '1-5'", "una de estas: 0-5, 0-10, 0-20, 1-7, percent, letters, y llegó «1-5»"),
        ("scale = 10", "y llegó 10."),
        ("passing = 5", "`passing`: se esperaba que antes se dijera la escala con `scale`"),
        ("scale = '0-10'\npassing = 12", "`passing`: se esperaba un número de 0 a 10, y llegó 12"),
        ("scale = '0-10'\npassing = true", "y llegó true"),
        ("scale = '0-10'\npassing = nan", "se esperaba un número de 0 a 10"),
        ("scale = '0-10'\npassing_at = 50", "que también se dijera con cuánto se aprueba"),
        ("scale = '1-7'\npassing_at = 100", "se esperaba un número de 1 a 99, y llegó 100"),
        ("scale = '1-7'\nminimum = 0.5", "se esperaba un número de 1 a 7, y llegó 0.5"),
        ("scale = '1-7'\nletters = {A = 0}", "`letters`: se esperaba que `scale` fuera «letters»"),
        ("scale = 'letters'\nminimum = 1", "con letras no se usa, y llegó 1"),
        ("scale = 'letters'\npassing = 'E'", "una de las letras: A, B, C, D, F, y llegó «E»"),
        ("scale = 'letters'\npassing = []", "y llegó una lista"),
        ("scale = 'letters'\nletters = {}", "una tabla, como `letters = { A = 90"),
        ("scale = 'letters'\nletters = {A = 90}", "que una empezara en 0 y ninguna donde otra"),
        ("scale = 'letters'\nletters = {A = 'x'}", "`letters.A`: se esperaba un número de 0 a 100"),
        ("name = 2026-01-01", "y llegó una fecha"),
        ("scale = '0-10'\npassing = 0", "`passing`: se esperaba un número mayor que 0"),
        ("scale = '1-7'\nminimum = 4", "con cuánto se aprueba se dice en `passing`, y llegó 4"),
        ("scale = 'letters'\nletters = {A = 0.9, C = 0}", "porcentajes, como 90, y llegó 0.9"),
        ("scale = 'letters'\nletters = {'' = 0}", "que cada una tuviera su letra"),
        ("keep = 'encoder'", "`keep`: se esperaba una lista de páginas del libro"),
        (
            "keep = ['encoder', 'bert']\nleave_out = ['bert']",
            "`keep`: se esperaba que ninguna página estuviera también en `leave_out`, y llegó",
        ),
        ("leave_out = ['encoder.md']", "una página del libro, como whole_models, y llegó «encod"),
        ("name = sin comillas", "no es TOML en la línea 1, «name = sin comillas»: se esperaba"),
        ("name = 'a'\nname = 'b'", "esa clave está dos veces"),
        ("name = “Curso”", "las comillas de TOML son rectas"),
        ("passing = 4,5", "los decimales se escriben con punto"),
        ('logo = "C:\\Users\\ana.svg"', "en las rutas, usa /"),
        ("topics = ['bert' 'palm']", "no es TOML"),
        ('topics = ["bert" "palm"]', "entre un elemento de la lista y otro va una coma"),
        ("letters = { A+ = 90 }", "una letra con signo va entre comillas"),
    ],
)
def test_what_is_wrong_is_said_with_what_was_expected(tmp_path, text, told):
    (tmp_path / "texto.svg").write_text("hola", encoding="utf-8")
    (tmp_path / "grande.svg").write_text(f"<!-- {'x' * 200_000} -->{LOGO}", encoding="utf-8")
    (tmp_path.parent / "fuera.svg").write_text(LOGO, encoding="utf-8")
    with pytest.raises(CourseSettingsError) as error:
        read(tmp_path, text)
    assert told in str(error.value) and str(tmp_path / "course.toml") in str(error.value)


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    with pytest.raises(CourseSettingsError, match="No se puede leer"):
        read_course_settings(tmp_path / "no_esta.toml")
    (tmp_path / "course.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(CourseSettingsError, match="UTF-8"):
        read_course_settings(tmp_path / "course.toml")
