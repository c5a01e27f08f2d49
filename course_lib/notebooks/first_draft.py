"""El borrador de un ejercicio nuevo: se regenera tal cual, y se cambia lo que haga falta."""

from __future__ import annotations

from pathlib import Path

from course_lib.files import write_atomically
from course_lib.notebooks.topic_source import TOPIC_FILE

EXERCISE = '''---
puntos: 1
---

# Título del ejercicio

Di qué recibe la función, qué devuelve y de qué forma. `x` es `[..., d]`; devuelve el doble de
cada número.

<details><summary>Pista</summary>

Una pregunta que acerque, sin dar la respuesta.

</details>

```{{code-cell}} ipython3
def {name}(x):
    """El doble de cada número."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
```

## Casos

```python
def cases(rng):
    return [(normal(rng, 3),), (normal(rng, 2, 4),)]
```

## Errores

- `2 * x` → `x**2`
  elevas al cuadrado: eso es multiplicar cada número por sí mismo.
- `2 * x` → `x / 2`
  divides entre 2; se pide multiplicar.
- `2 * x` → `x + 2`
  sumas 2 a cada número, y así los grandes casi no cambian.

## Otras maneras

```python
return x + x
```

```python
return torch.mul(x, 2)
```
'''

TOPIC = """---
titulo: {title}
---

{{Ejercicios}} y {{puntos}}. Escribe tu respuesta donde se indica y ejecuta la celda de
comprobación que va debajo.

```{{code-cell}} ipython3
import torch

from course_lib import check
```

```{{ejercicios}}
{name}
```
"""


class DraftError(ValueError):
    """No se puede crear el borrador; el mensaje dice por qué."""


def write_draft(topic: str, name: str, root: Path) -> Path:
    """Escribe el borrador de un ejercicio y lo pone al final del orden de su tema.

    Errores:
        DraftError: ya existe, o el tema es todavía de un solo archivo.
    """
    folder = root / "solutions" / topic
    path = folder / f"{name}.md"
    if path.exists():
        raise DraftError(f"solutions/{topic}/{name}.md ya existe.")
    if not folder.is_dir() and (root / "solutions" / f"{topic}.md").exists():
        raise DraftError(f"el tema «{topic}» todavía es un solo archivo, solutions/{topic}.md.")
    around = folder / TOPIC_FILE
    text = _with_name(around, name) if around.exists() else TOPIC.format(title=topic, name=name)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, EXERCISE.format(name=name).encode())
    write_atomically(around, text.encode())
    return path


def _with_name(around: Path, name: str) -> str:
    """Agrega un nombre al último bloque de ejercicios."""
    text = around.read_text(encoding="utf-8")
    start = text.rfind("```{ejercicios}")
    end = text.find("\n```", start + 3)
    if start < 0 or end < 0:
        raise DraftError(f"{around.name} no tiene un bloque «```{{ejercicios}}»: escríbelo.")
    return f"{text[:end]}\n{name}{text[end:]}"
