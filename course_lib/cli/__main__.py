"""`python -m course_lib.cli`: el comando, aunque no esté instalado."""

from course_lib.cli import app

if __name__ == "__main__":
    app(prog_name="course")
