"""El estilo de la bibliografía y de las citas, con las palabras que unen sus partes en español."""

from dataclasses import dataclass
from dataclasses import field as default

from pybtex.backends.plaintext import Backend as PlainText
from pybtex.plugin import register_plugin
from pybtex.style.formatting import toplevel
from pybtex.style.formatting.alpha import Style as Alpha
from pybtex.style.template import (
    field,
    names,
    optional,
    optional_field,
    sentence,
    words,
)
from pybtex_docutils import Backend as Docutils
from sphinx.application import Sphinx
from sphinxcontrib.bibtex.plugin import register_plugin as register_citations
from sphinxcontrib.bibtex.style.referencing import PersonStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle


class Spanish(Alpha):
    """Como el estilo alpha: «y» entre autores, «En» antes de las actas, «volumen»."""

    def format_entries(self, entries, bib_data=None):
        for entry in (entries := list(entries)):
            for person in entry.persons.get("author", []):
                if person.last_names == ["others"]:
                    person.last_names = ["otros"]
        return super().format_entries(entries, bib_data)

    def format_names(self, role, as_sentence=True):
        formatted = names(role, sep=", ", sep2=" y ", last_sep=" y ")
        return sentence[formatted] if as_sentence else formatted

    def format_volume_and_series(self, e, as_sentence=True):
        formatted = optional[words["volumen", field("volume")]]
        return sentence[formatted] if as_sentence else formatted

    def get_inproceedings_template(self, e):
        return toplevel[
            sentence[self.format_names("author")],
            self.format_title(e, "title"),
            words[
                "En",
                sentence[
                    self.format_btitle(e, "booktitle", as_sentence=False),
                    self.format_volume_and_series(e, as_sentence=False),
                ],
                self.format_address_organization_publisher_date(e),
            ],
            sentence[optional_field("note")],
            self.format_web_refs(e),
        ]


def _spanish_person() -> PersonStyle:
    return PersonStyle(sep2=" y ", last_sep=" y ")


@dataclass
class SpanishCitations(AuthorYearReferenceStyle):
    """Citas por autor y año: «Press y Wolf [2017]»."""

    person: PersonStyle = default(default_factory=_spanish_person)


def setup(app: Sphinx) -> None:
    register_plugin("pybtex.style.formatting", "course_spanish", Spanish)
    # A los suyos los busca, en cada cita, entre todo lo instalado; lo registrado lo mira antes.
    register_plugin("pybtex.backends", "plaintext", PlainText, force=True)
    register_plugin("pybtex.backends", "docutils", Docutils, force=True)
    register_citations("sphinxcontrib.bibtex.style.referencing", "course_spanish", SpanishCitations)
