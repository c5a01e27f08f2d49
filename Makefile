# Los comandos del curso: make site, make test y make serve. Cada uno prepara lo que necesita.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Un proceso que no guarda lo que compila lo compila otra vez, y las pruebas abren muchos.
unexport PYTHONDONTWRITEBYTECODE
DEBIAN := bubblewrap chromium chromium-headless-shell epubcheck hunspell hunspell-es libseccomp2 poppler-utils
TORCH  := 2.13.0
# El último que admite cualquier Python 3.11, también el 3.11.2 de Debian 12.
PINS   := --upgrade-package torch==$(TORCH) --upgrade-package soupsieve==2.10
# El torch que PyPI da en Linux es el de GPU de NVIDIA, varios gigabytes: donde no hay una, el de CPU.
CPU_INDEX ?= https://download.pytorch.org/whl/cpu
LOCK = $(BIN)/pip-compile --quiet --strip-extras --no-annotate --no-header --unsafe-package pip \
    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host
# Con SOLUTIONS=0 el sitio se construye sin la parte «Soluciones».
SOLUTIONS ?= 1
TESTS ?= tests exercises solutions

.PHONY: site serve pdf epub test quick bench regenerate lock system clean

site: $(READY)  ## construye el libro, ejecutando lo que haya cambiado: _build/html/index.html
	COURSE_SOLUTIONS=$(SOLUTIONS) $(BIN)/jupyter-book build . -W -n --keep-going

serve: $(READY)  ## sirve el libro en http://localhost:8000 y lo rehace con cada cambio
	$(BIN)/python book/_ext/serve.py

pdf: site  ## el libro entero en un PDF: _build/atencion_y_transformers.pdf
	$(BIN)/python book/_ext/paper.py pdf

epub: site  ## el libro entero en un EPUB: _build/atencion_y_transformers.epub
	$(BIN)/python book/_ext/paper.py epub

test: $(READY) system  ## ejecuta todas las pruebas, cuadernos incluidos
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --nbval --nbval-cell-timeout=300 $(TESTS)

quick: $(READY)  ## ejecuta, en minuto y medio a lo sumo, las pruebas de lo que cambió
	@tests=$$($(BIN)/python -m tests.changed) && if [ -n "$$tests" ]; then \
	    $(BIN)/python -m pytest -q -n auto --budget 75 -m "not slow and not site and not browser" $$tests; \
	else echo "No cambió nada que tenga pruebas"; fi

bench: $(READY)  ## mide tiempos y memoria, y guarda los resultados en benchmarks/results
	$(BIN)/python -m benchmarks

regenerate: $(READY)  ## rehace los cuadernos de ejercicios y soluciones que hayan cambiado
	$(BIN)/course regenerate

lock: $(READY)  ## vuelve a fijar las versiones de los dos requirements dentro de los rangos de pyproject.toml
	$(LOCK) --upgrade $(PINS) --output-file requirements.txt \
	    --extra author --extra cluster --extra dev --extra site --extra teacher pyproject.toml
	sed -i -e 's/^torch==.*/torch==$(TORCH)/' -e 's/^pyseccomp==.*/& ; sys_platform == "linux"/' requirements.txt
	echo '-e .' >> requirements.txt
	grep -v '^-e' requirements.txt > $(VENV)/pinned.txt
	$(LOCK) --upgrade --constraint $(VENV)/pinned.txt --output-file requirements-student.txt --extra student pyproject.toml
	sed -i -e '1i --extra-index-url $(CPU_INDEX)' -e 's/^torch==.*/torch==$(TORCH)+cpu ; sys_platform == "linux"\ntorch==$(TORCH) ; sys_platform != "linux"/' \
	    requirements-student.txt
	echo '-e .' >> requirements-student.txt

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Hace falta Python 3.11 o posterior, y este es %s. Indica otro con: make PYTHON=python3.12" % sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	@if [ "$$(uname)" = Linux ] && ! command -v nvidia-smi >/dev/null; then \
	    echo "Sin GPU de NVIDIA: torch para CPU"; \
	    $(BIN)/pip install --quiet --disable-pip-version-check --no-deps torch==$(TORCH) --index-url $(CPU_INDEX); fi
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

system:
	@sh .ci/system.sh $(DEBIAN)

clean:
	rm -rf $(VENV) _build
