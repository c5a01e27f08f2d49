"""`python -m course_lib.cli`: el comando, aunque no esté instalado."""

from course_lib.cli import app

app(prog_name="course")
