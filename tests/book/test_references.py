"""Las referencias: cada obra lleva a donde se puede leer."""

import re
import sys

import pytest
from pybtex.database import parse_file

from tests.book.conftest import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from course_site.bibliography import Spanish

ENTRIES = parse_file(str(ROOT / "book" / "references.bib")).entries
# No tienen DOI ni están en arXiv.
WITHOUT = {"gage1994new", "radford2019language", "levy2014neural"}
ARXIV = re.compile(r"\d{4}\.\d{4,5}")
DOI = re.compile(r"10\.\d{4,9}/\S+")


@pytest.mark.parametrize("key", sorted(ENTRIES))
def test_a_reference_links_to_its_work(key: str):
    fields = ENTRIES[key].fields
    if key in WITHOUT:
        assert not {"doi", "eprint", "url"} & set(fields)
        return
    if "eprint" in fields:
        assert fields["archiveprefix"] == "arXiv" and ARXIV.fullmatch(fields["eprint"])
    if "doi" in fields:
        assert DOI.fullmatch(fields["doi"])
    (shown,) = Spanish().format_entries([ENTRIES[key]])
    html = shown.text.render_as("html")
    assert re.search(
        r'href="https://(arxiv\.org/abs|doi\.org|aclanthology\.org|github\.com)/', html
    )
    number = fields.get("eprint", "sin número")
    assert html.count(f">arXiv:{number}<") == ("eprint" in fields), "el número se dice una vez"


def test_no_two_references_share_an_address():
    found = [e.fields.get(k) for e in ENTRIES.values() for k in ("doi", "eprint") if k in e.fields]
    assert len(found) == len(set(found)) > 70
