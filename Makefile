# Los comandos del curso: make site, make test y make serve. Cada uno prepara lo que necesita.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEBIAN := bubblewrap chromium hunspell hunspell-es libseccomp2
# Con SOLUTIONS=0 el sitio se construye sin la parte «Soluciones».
SOLUTIONS ?= 1

.PHONY: site serve test bench regenerate lock system clean

site: $(READY)  ## construye el libro, ejecutando lo que haya cambiado: _build/html/index.html
	COURSE_SOLUTIONS=$(SOLUTIONS) $(BIN)/jupyter-book build . -W -n --keep-going

serve: $(READY)  ## sirve el libro en http://localhost:8000 y lo rehace con cada cambio
	$(BIN)/python book/_ext/serve.py

test: $(READY) system  ## ejecuta todas las pruebas, cuadernos incluidos
	$(BIN)/python -m pytest -n auto --dist loadfile --nbval --nbval-cell-timeout=300 tests exercises solutions

bench: $(READY)  ## mide tiempos y memoria, y guarda los resultados en benchmarks/results
	$(BIN)/python -m benchmarks

regenerate: $(READY)  ## rehace los cuadernos de ejercicios y soluciones que hayan cambiado
	$(BIN)/course regenerate

lock: $(READY)  ## vuelve a fijar las versiones de requirements.txt dentro de los rangos de pyproject.toml
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --all-extras --no-annotate --no-header \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	    --upgrade-package torch==2.13.0 --output-file requirements.txt pyproject.toml
	sed -i 's/^torch==\([0-9.]*\)+.*/torch==\1/' requirements.txt
	echo '-e .' >> requirements.txt

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Hace falta Python 3.11 o posterior, y este es %s. Indica otro con: make PYTHON=python3.12" % sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

system:
	@sh .ci/system.sh $(DEBIAN)

clean:
	rm -rf $(VENV) _build
