"""La medida de un capítulo cuenta lo que se ve, y solo eso."""

from tests.book.metrics import chapters, measure

PAGE = """---
kernelspec:
  name: python3
---

# Uno dos

Tres *cuatro* {term}`cinco <seis>` $x$ [siete](a.md).

$$
a
$$ (eq-a)

:::{question} ¿No cuenta?
- [x] a
  Nada.
:::

```{code-cell} ipython3
x = 1
assert x
f(alt="")
```

```{code-cell} ipython3
:tags: [remove-cell]
assert x
```

```{code-cell} ipython3
---
tags: [remove-input]
mystnb:
  figure:
    caption: Nada.
---
f(alt="")
```

:::{note}
Ocho.

:::{prediction} ¿Tampoco?
Nada de nada.
:::

:::{optional} Otra
Nada de nada.
:::

## Nueve

```{optional}
```

Nada.

### Nada

```{code-cell} ipython3
x = 2
```

## Diez

```{literalinclude} ../course_lib/primitives/attention.py
:pyobject: soft_argmax
:language: python
```
"""


def test_what_is_seen_is_counted():
    found = measure(PAGE)
    assert found.pop("minutes") == 2
    assert found == {"code": 3 + 6, "asserts": 1, "alts": 1, "questions": 2, "words": 9}


def test_chapters_are_those_that_teach():
    assert chapters()[0] == "attention" and len(chapters()) >= 19
    assert "glossary" not in chapters()
