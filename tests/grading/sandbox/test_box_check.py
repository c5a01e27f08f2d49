"""`course doctor` construye una caja de verdad y dice qué parte falla y cómo se arregla."""

import subprocess

import pytest

from course_lib.grading.sandbox import box, box_check, syscalls
from course_lib.grading.sandbox.box_check import box_parts, why_no_namespaces

NAMES = [
    "bubblewrap",
    "libseccomp",
    "espacios de nombres",
    "construcción",
    "grupo de control",
    "entrega de prueba",
]


def test_where_there_is_a_box_every_part_works(sandbox_here):
    parts = list(box_parts())
    assert [part.name for part in parts] == NAMES
    assert all(part.found and not part.remedy for part in parts), parts
    assert parts[-1].found.startswith("calificada en ")


def last(monkeypatch):
    """La última parte que se miró."""
    monkeypatch.setattr(box_check.syscalls, "why_unfiltered", str)
    *_, part = box_parts()
    return part


def test_without_bubblewrap_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(box_check.shutil, "which", lambda name: None)
    part = last(monkeypatch)
    assert part.name == "bubblewrap" and "sudo apt-get install bubblewrap" in part.remedy


def test_without_the_filter_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(box_check.shutil, "which", lambda name: "/usr/bin/bwrap")
    monkeypatch.setattr(syscalls, "pyseccomp", None)
    *_, part = box_parts()
    assert part.name == "libseccomp" and "libseccomp2" in part.remedy


def refused(*arguments, **options):
    return subprocess.CompletedProcess(arguments, 1, "", "setting up uid map: Permission denied")


def test_without_namespaces_it_says_who_forbids_them(monkeypatch):
    monkeypatch.setattr(box_check.shutil, "which", lambda name: "/usr/bin/bwrap")
    monkeypatch.setattr(box_check.subprocess, "run", refused)
    monkeypatch.setattr(box_check, "why_no_namespaces", lambda: "Los prohíbe AppArmor.")
    part = last(monkeypatch)
    assert part.name == "espacios de nombres"
    assert part.remedy == (
        "Los prohíbe AppArmor. bubblewrap dijo: setting up uid map: Permission denied"
    )


@pytest.mark.parametrize(
    ("name", "value", "said", "order"),
    [
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "AppArmor",
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            "kernel/unprivileged_userns_clone",
            "0",
            "El núcleo los prohíbe",
            "sudo sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        (
            "user/max_user_namespaces",
            "0",
            "no deja crear ninguno",
            "sudo sysctl -w user.max_user_namespaces=15000",
        ),
    ],
)
def test_each_prohibition_has_its_remedy(tmp_path, name, value, said, order):
    path = tmp_path / name
    path.parent.mkdir()
    other = {"0": "1", "1": "0"}[value]
    path.write_text(f"{other}\n")
    assert said not in why_no_namespaces(tmp_path, tmp_path)
    path.write_text(f"{value}\n")
    told = why_no_namespaces(tmp_path, tmp_path)
    assert said in told and order in told


def test_a_container_is_told_to_leave_it(tmp_path):
    assert "contenedor" not in why_no_namespaces(tmp_path, tmp_path)
    (tmp_path / ".dockerenv").touch()
    assert "--privileged" in why_no_namespaces(tmp_path, tmp_path)


def test_a_box_that_cannot_be_entered_is_not_a_good_one(monkeypatch, sandbox_here):
    """Construirla no basta: la entrega tiene que llegar a ejecutarse dentro."""

    def fails(*arguments, **options):
        raise box.SandboxError("no pudo entrar en su caja")

    monkeypatch.setattr("course_lib.grading.sandbox.grader.Grader.grade", fails)
    part = last(monkeypatch)
    assert part.name == "entrega de prueba" and "no pudo entrar" in part.remedy
