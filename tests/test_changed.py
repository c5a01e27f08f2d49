"""`make quick` ejecuta las pruebas de lo que cambió, y no las demás."""

from pathlib import Path

import pytest

from tests.changed import affected_by


@pytest.mark.parametrize(
    ("file", "expected", "other"),
    [
        ("course_lib/primitives/attention.py", "primitives/test_softmax.py", "tests/test_cli"),
        ("course_lib/judging/judge.py", "tests/judging/test_check.py", "tests/models"),
        ("course_lib/grading/classroom/templates/feedback.html", "classroom/test_", "models"),
        ("book/_ext/warm.py", "tests/test_warm.py", "tests/models"),
        ("book/bert.md", "tests/book/test_spelling.py", "tests/layers"),
        ("tests/layers/test_blocks.py", "tests/layers/test_blocks.py", "tests/models"),
    ],
)
def test_the_tests_of_a_file(file, expected, other):
    told = " ".join(affected_by([Path(file)]))
    assert expected in told and other not in told


def test_every_module_has_tests():
    """Un módulo nuevo sin prueba que lo alcance se nota aquí."""
    alone = [
        str(path)
        for path in sorted(Path("course_lib").rglob("*.py"))
        if path.name not in ("__init__.py", "__main__.py", "_lazy.py")
        and len(affected_by([path])) < 2
    ]
    assert not alone


def test_nothing_changed():
    assert affected_by([Path("LICENSE")]) == []
