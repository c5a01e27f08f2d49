"""Un archivo se escribe entero o no se escribe."""

import pytest

from course_lib.files import write_atomically


def test_missing_folders_are_made(tmp_path):
    path = tmp_path / "una" / "otra" / "a.bin"
    write_atomically(path, b"nuevo")
    assert path.read_bytes() == b"nuevo"


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.ipynb"
    write_atomically(path, b"viejo")
    monkeypatch.setattr("os.fsync", lambda descriptor: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_atomically(path, b"nuevo")
    assert [p.name for p in tmp_path.iterdir()] == ["a.ipynb"]
    assert path.read_bytes() == b"viejo"
