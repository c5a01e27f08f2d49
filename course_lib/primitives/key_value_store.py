"""El almacén clave-valor: buscar lo exacto, lo más parecido, o una mezcla de todo."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.primitives.attention import attention, require_finite_beta, require_floating
from course_lib.primitives.text_embedding import embed_text

_CHUNK = 8_192
_BLOCK = 64


def hard_lookup(
    query: Float[Tensor, "*batch d_q"], K: Float[Tensor, "t_k d_k"], V: Float[Tensor, "t_v d_v"]
) -> Float[Tensor, "*batch d_v"]:
    """Devuelve el valor de la clave más parecida a cada consulta.

        h = v_j,   j = arg max_i kᵢᵀ q        (en un empate, la primera)

    Argumentos:
        query: una consulta q, `[d_k]`, o varias, `[..., d_k]`.
        K: claves, una por fila, `[t_k, d_k]`.
        V: valores, uno por fila, `[t_k, d_v]`.

    Devuelve:
        Un valor por consulta, `[..., d_v]`.

    Errores:
        ValueError: si los tamaños no concuerdan o no hay claves.

    Fuente: ecuación `eq-lookup` del capítulo `key_value_store`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import hard_lookup
        >>> K, V = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[100.0], [200.0]])
        >>> hard_lookup(torch.tensor([0.2, 0.9]), K, V)
        tensor([200.])
    """
    _require_table(query, K, V)
    _, rows = top_k(query.reshape(-1, query.shape[-1]), K, 1)
    return V[rows[:, 0]].reshape(*query.shape[:-1], V.shape[-1])


def soft_lookup(
    query: Float[Tensor, "*batch d_q"],
    K: Float[Tensor, "t_k d_k"],
    V: Float[Tensor, "t_v d_v"],
    beta: float | int | Float[Tensor, ""] | None = None,
) -> Float[Tensor, "*batch d_v"]:
    """Devuelve la mezcla de todos los valores, pesados por el parecido de su clave.

        a = softmax(β K q),   h = Vᵀ a

    Es la atención de una o varias consultas: `attention` no forma los pesos, así que la memoria
    no crece con el producto de consultas por claves.

    Argumentos:
        query: una consulta q, `[d_k]`, o varias, `[..., d_k]`.
        K: claves, una por fila, `[t_k, d_k]`.
        V: valores, uno por fila, `[t_k, d_v]`.
        beta: temperatura inversa β; si falta, 1/√d_k.

    Devuelve:
        Una mezcla por consulta, `[..., d_v]`.

    Errores:
        ValueError: si los tamaños no concuerdan o no hay claves.

    Fuente: ecuación `eq-lookup` del capítulo `key_value_store`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import soft_lookup
        >>> K, V = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[100.0], [200.0]])
        >>> soft_lookup(torch.tensor([0.0, 1.0]), K, V, beta=0)  # todas pesan igual
        tensor([150.])
        >>> soft_lookup(torch.tensor([0.0, 1.0]), K, V, beta=50)  # casi la dura
        tensor([200.])
    """
    _require_table(query, K, V)
    H = attention(query.reshape(-1, query.shape[-1]), K, V, beta=beta)
    return H.reshape(*query.shape[:-1], V.shape[-1])


@torch.no_grad()
def top_k(
    Q: Float[Tensor, "t_q d_q"],
    K: Float[Tensor, "t_k d_k"],
    k: int,
    *,
    beta: float | int | None = None,
    chunk_size: int = _CHUNK,
) -> tuple[Float[Tensor, "t_q k"], Int[Tensor, "t_q k"]]:
    """Da las k claves con más peso para cada consulta, con su peso exacto entre todas las claves.

        a_ij = exp(β s_ij − L_i),   L_i = log Σ_j exp(β s_ij),   s = Q Kᵀ

    Recorre las claves por tandas y lleva la cuenta de las k mejores y de L: nunca guarda los
    t_q · t_k pesos. En un empate gana la clave que está antes.

    Argumentos:
        Q: consultas, `[t_q, d_k]`.
        K: claves, `[t_k, d_k]`.
        k: cuántas claves por consulta; si hay menos, se dan todas.
        beta: temperatura inversa β ≥ 0; si falta, 1/√d_k.
        chunk_size: cuántas claves por tanda.

    Devuelve:
        Los pesos, de mayor a menor, y las filas de K: dos tensores `[t_q, min(k, t_k)]`.

    Errores:
        ValueError: si los tamaños no concuerdan, no hay claves, k no es positivo o β es negativa.

    Fuente: Milakov y Gimelshein (2018), §3, para la suma que se corrige sobre la marcha; capítulo
    `key_value_store`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import top_k
        >>> Q, K = torch.tensor([[1.0]]), torch.tensor([[0.0], [2.0], [1.0]])
        >>> weights, rows = top_k(Q, K, k=2, beta=1.0)
        >>> rows
        tensor([[1, 2]])
        >>> weights  # no suman 1: la clave que falta también recibe atención
        tensor([[0.6652, 0.2447]])
    """
    _require_table(Q, K)
    beta = 1.0 / math.sqrt(Q.shape[-1]) if beta is None else beta
    _require_search(k, beta, chunk_size)
    best, rows = Q.new_empty(len(Q), 0), torch.empty(len(Q), 0, dtype=torch.long, device=Q.device)
    total = Q.new_full((len(Q),), -math.inf)
    for start in range(0, len(K), chunk_size):
        scores = Q @ K[start : start + chunk_size].T
        chunk_best, chunk_rows = _first_best(scores, k)
        total = torch.logaddexp(total, torch.logsumexp(scores.mul_(beta), -1))
        best, order = torch.cat((best, chunk_best), 1).sort(dim=-1, descending=True, stable=True)
        rows = torch.cat((rows, chunk_rows + start), 1).gather(1, order)
        best, rows = best[:, :k], rows[:, :k]
    return torch.exp(beta * best - total[:, None]), rows


class Match(NamedTuple):
    """Una respuesta del almacén: la clave, su valor y el peso de atención que recibió.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import KeyValueStore
        >>> store = KeyValueStore()
        >>> store.add_many(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), ["este", "norte"])
        >>> best = store.ranking(torch.tensor([0.9, 0.1]), k=1, beta=1.0)[0]
        >>> best.value, round(best.weight, 2)
        ('este', 0.69)
    """

    key: Any
    value: Any
    weight: float


class KeyValueStore:
    """Un diccionario al que también se le puede preguntar por parecido.

    ::

        get      → el valor de esa clave, exacta            v_j con k_j = q
        lookup   → dura: el valor de la más parecida        v_j con j = arg max_i kᵢᵀ q
                   suave: la mezcla de los valores          h = Σ_j a_j v_j, a = softmax(β K q)
        ranking  → las k con más peso, de mayor a menor     (k_j, v_j, a_j)

    Las claves son todas textos o todas vectores del mismo ancho; los textos pasan por
    `embed_text`. Los valores son cualquier objeto; la consulta suave pide que sean números o
    tensores de una misma forma. Guardar una clave que ya estaba cambia su valor, como en un
    diccionario. Los tensores se guardan copiados y sin gradiente: para aprender con gradiente
    están `hard_lookup` y `soft_lookup`.

    Argumentos:
        d_k: ancho de las claves; con textos, el de su incrustación (512 si falta); con vectores,
            el de la primera clave si falta.

    Fuente: ecuación `eq-lookup` del capítulo `key_value_store`.

    Ejemplo:
        >>> from course_lib.primitives import KeyValueStore
        >>> store = KeyValueStore()
        >>> store.add_many(["lasaña de verduras", "sopa de tomate"], ["hornea", "hierve"])
        >>> store.get("sopa de tomate")  # la clave exacta
        'hierve'
        >>> store.lookup("lasaña", hard=True)  # la más parecida
        'hornea'
        >>> [match.key for match in store.ranking("una sopa", k=2)]
        ['sopa de tomate', 'lasaña de verduras']
    """

    def __init__(self, d_k: int | None = None) -> None:
        self.d_k = d_k
        self._texts: list[str] | None = None
        self._keys: _Rows | None = None
        self._values: _Rows | list[Any] = []
        self._index: dict[str | int, int] = {}

    def __len__(self) -> int:
        return 0 if self._keys is None else self._keys.count

    def __contains__(self, key: str | Tensor) -> bool:
        return self._find(key)[0] is not None

    def add(self, key: str | Tensor, value: Any) -> None:
        """Guarda un valor bajo una clave; si la clave ya estaba, cambia su valor.

        Cuesta un tiempo constante en promedio: el espacio se duplica cuando se llena.

        Errores:
            ValueError: si la clave no es del tipo o el ancho de las anteriores.
        """
        single = value.unsqueeze(0) if isinstance(value, Tensor) else [value]
        self.add_many(self._one(key), single)

    def add_many(self, keys: Sequence[str] | Tensor, values: Sequence[Any] | Tensor) -> None:
        """Guarda muchos pares de una vez: textos o una matriz `[n, d_k]`, y sus n valores.

        Errores:
            ValueError: si no hay un valor por clave, o una clave no es como las anteriores.
        """
        if len(keys) != len(values):
            raise ValueError(
                f"Se esperaba un valor por clave y llegaron {len(keys)} claves y {len(values)} "
                "valores."
            )
        if not len(keys):
            return
        values = values.detach().clone() if isinstance(values, Tensor) else values
        K, names = self._embed(keys), self._names(keys)
        if self._keys is None:
            self._keys, self.d_k = _Rows(K[:0]), K.shape[1]
            self._texts = None if isinstance(keys, Tensor) else []
        fresh = len(set(names)) == len(names) and self._index.keys().isdisjoint(names)
        if fresh:
            self._append(names, keys, K, values)
            return
        for i in range(len(names)):
            self._put(keys[i : i + 1], K[i : i + 1], values[i : i + 1])

    def get(self, key: str | Tensor) -> Any:
        """Devuelve el valor guardado bajo exactamente esa clave, como un diccionario.

        Errores:
            KeyError: si la clave no está.
            ValueError: si la clave no es del tipo o el ancho de las del almacén.
        """
        row, _ = self._find(key)
        if row is None:
            raise KeyError(self._missing(key))
        return self._value(row)

    def lookup(
        self,
        query: str | Sequence[str] | Tensor,
        beta: float | int | None = None,
        *,
        hard: bool = False,
    ) -> Any:
        """Responde por parecido: la mezcla de los valores (suave) o el de la clave ganadora (dura).

        Argumentos:
            query: un texto o vector, o varios (una lista de textos o una matriz `[n, d_k]`).
            beta: temperatura inversa β de la mezcla; si falta, 1/√d_k.
            hard: con True, el valor de la clave más parecida, tal como se guardó.

        Devuelve:
            Suave: un tensor con la forma de un valor (con varias consultas, uno por fila). Dura:
            el valor, o una lista con uno por consulta.

        Errores:
            ValueError: si el almacén está vacío, la consulta no es como las claves, o se pide la
            mezcla de valores que no son números.
        """
        Q, single = self._queries(query)
        if hard:
            _, rows = top_k(Q, self._keys.rows, 1)
            found = [self._value(row) for row in rows[:, 0].tolist()]
            return found[0] if single else found
        V = self._numeric_values()
        H = soft_lookup(Q, self._keys.rows, V.reshape(len(V), -1), beta)
        H = H.reshape(len(Q), *V.shape[1:])
        return H[0] if single else H

    def ranking(
        self, query: str | Tensor, k: int = 5, beta: float | int | None = None
    ) -> list[Match]:
        """Ordena las claves de más a menos parecida y da las k primeras.

        El peso de cada una es su parte de la atención repartida entre todas las claves del
        almacén, no solo entre las k.

        Argumentos:
            query: un texto o un vector.
            k: cuántas; si hay menos, se dan todas.
            beta: temperatura inversa β ≥ 0; si falta, 1/√d_k.

        Devuelve:
            Una lista de `Match(key, value, weight)`.

        Errores:
            ValueError: si el almacén está vacío, la consulta no es como las claves, k no es
            positivo o β es negativa.
        """
        Q, _ = self._queries(self._one(query))
        (weights,), (rows,) = (X.tolist() for X in top_k(Q, self._keys.rows, k, beta=beta))
        pairs = zip(rows, weights, strict=True)
        return [Match(self._key(row), self._value(row), a) for row, a in pairs]

    def _put(self, keys, K, values) -> None:
        """Guarda un solo par, que puede estar ya."""
        row, name = self._find_row(keys, K)
        if row is None:
            self._append([name], keys, K, values)
        elif isinstance(self._values, _Rows) and self._values.fits(values):
            self._values.rows[row] = values[0]
        else:
            self._as_list()[row] = values[0]

    def _append(self, names, keys, K, values) -> None:
        start = len(self)
        if start == 0 and isinstance(values, Tensor):
            self._values = _Rows(values[:0])
        if isinstance(self._values, _Rows) and self._values.fits(values):
            self._values.extend(values)
        else:
            self._as_list().extend(values)
        self._keys.extend(K)
        if self._texts is not None:
            self._texts.extend(keys)
        self._index.update(zip(names, range(start, start + len(names)), strict=True))

    def _as_list(self) -> list[Any]:
        """Pasa a una lista los valores guardados en un tensor: llegó uno que no cabe en él."""
        if isinstance(self._values, _Rows):
            self._values = list(self._values.rows.clone())
        return self._values

    def _key(self, row: int) -> str | Tensor:
        return self._keys.rows[row].clone() if self._texts is None else self._texts[row]

    def _value(self, row: int) -> Any:
        rows = self._values
        return rows.rows[row].clone() if isinstance(rows, _Rows) else rows[row]

    def _numeric_values(self) -> Tensor:
        if isinstance(self._values, _Rows):
            return self._values.rows.to(self._keys.rows)
        values = self._values
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            return torch.tensor(values, dtype=torch.float64).to(self._keys.rows)
        if all(isinstance(v, Tensor) and v.shape == values[0].shape for v in values):
            return torch.stack([v.detach() for v in values]).to(self._keys.rows)
        kinds = ", ".join(sorted({type(v).__name__ for v in values}))
        raise ValueError(
            "La consulta suave mezcla los valores, y para eso deben ser números o tensores de una "
            f"misma forma; hay valores de tipo {kinds}. Usa hard=True o ranking(…)."
        )

    def _one(self, key: str | Tensor) -> list[str] | Tensor:
        if isinstance(key, str):
            return [key]
        if not isinstance(key, Tensor) or key.ndim != 1:
            got = f"forma {tuple(key.shape)}" if isinstance(key, Tensor) else type(key).__name__
            raise ValueError(
                f"Se esperaba una clave de texto o un vector de forma [d_k] y llegó {got}."
            )
        return key.unsqueeze(0)

    def _embed(self, keys: Sequence[str] | Tensor) -> Tensor:
        """Convierte claves o consultas en una matriz [n, d_k] como la del almacén."""
        is_text = not isinstance(keys, Tensor)
        if self._keys is not None and is_text != (self._texts is not None):
            stored, got = (
                ("textos", "vectores") if self._texts is not None else ("vectores", "textos")
            )
            raise ValueError(
                f"Las claves de este almacén son {stored} y llegaron {got}: no se mezclan. Usa un "
                "almacén para cada tipo, o convierte los textos con embed_text."
            )
        if is_text:
            K = embed_text(keys, self.d_k or 512)
            return K if self._keys is None else K.to(self._keys.rows)
        _require_vectors(keys, self.d_k)
        # Sumar 0 convierte −0 en 0: son iguales y deben tener el mismo hash.
        K = keys.detach() + 0.0
        return K if self._keys is None else K.to(self._keys.rows)

    def _names(self, keys: Sequence[str] | Tensor) -> list[str] | list[int]:
        return list(keys) if not isinstance(keys, Tensor) else _hash_rows(self._embed(keys))

    def _find(self, key: str | Tensor) -> tuple[int | None, str | int]:
        keys = self._one(key)
        return self._find_row(keys, None if isinstance(key, str) else self._embed(keys))

    def _find_row(self, keys, K) -> tuple[int | None, str | int]:
        """Busca la fila de una clave; si no está, da el nombre libre con que guardarla."""
        if not isinstance(keys, Tensor):
            if self._keys is not None and self._texts is None:
                self._embed(keys)
            return self._index.get(keys[0]), keys[0]
        name = _hash_rows(K)[0]
        while (row := self._index.get(name)) is not None:
            if torch.equal(self._keys.rows[row], K[0]):
                return row, name
            name += 1
        return None, name

    def _queries(self, query: str | Sequence[str] | Tensor) -> tuple[Tensor, bool]:
        if not len(self):
            raise ValueError("El almacén está vacío: guarda algo con add(clave, valor) antes.")
        single = isinstance(query, str) or (isinstance(query, Tensor) and query.ndim == 1)
        return self._embed(self._one(query) if single else query), single

    def _missing(self, key: str | Tensor) -> str:
        if not isinstance(key, str):
            return "No hay ninguna clave igual a ese vector. Por parecido: lookup o ranking."
        message = f"No está la clave {key!r}."
        if not len(self):
            return f"{message} El almacén está vacío."
        return f"{message} La más parecida es {self.ranking(key, 1)[0].key!r}."


class _Rows:
    """Filas de un tensor que crece duplicando su espacio: añadir cuesta lo mismo en promedio."""

    def __init__(self, empty: Tensor) -> None:
        self.count, self._buffer = 0, empty.clone()

    @property
    def rows(self) -> Tensor:
        return self._buffer[: self.count]

    def fits(self, values: Any) -> bool:
        return (
            isinstance(values, Tensor)
            and values.shape[1:] == self._buffer.shape[1:]
            and values.dtype == self._buffer.dtype
        )

    def extend(self, rows: Tensor) -> None:
        needed = self.count + len(rows)
        if needed > len(self._buffer):
            # La primera tanda ocupa justo lo suyo: un almacén que no crece no gasta de más.
            size = max(needed, 2 * self.count if self.count else 0)
            grown = self._buffer.new_empty(size, *self._buffer.shape[1:])
            grown[: self.count] = self.rows
            self._buffer = grown
        self._buffer[self.count : needed] = rows
        self.count = needed


def _hash_rows(K: Tensor) -> list[int]:
    """Un entero por fila, igual para filas iguales: sus bits por multiplicadores fijos.

    hash(k) = Σ_j m_j · bits(k_j)   (mod 2⁶⁴)
    """
    bits = K.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[K.dtype.itemsize])
    # Las multiplicaciones desbordan a propósito: así se calcula módulo 2⁶⁴.
    odd = torch.arange(K.shape[1], dtype=torch.int64, device=K.device) * 2 + 1
    m = odd * 0x5851F42D4C957F2D
    m = (m ^ (m >> 32)) * 0x2545F4914F6CDD1D | 1
    return torch.cat([(part.long() * m).sum(-1) for part in bits.split(_CHUNK)]).tolist()


def _first_best(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Las k mayores puntuaciones de cada fila y dónde están; entre iguales, las primeras.

    Las k mejores están en los k bloques de mayor máximo: basta ordenar esos.
    """
    k, width = min(k, scores.shape[1]), scores.shape[1]
    if width <= 2 * k * _BLOCK:
        best, rows = scores.sort(dim=-1, descending=True, stable=True)
        return best[:, :k], rows[:, :k]
    blocks = F.pad(scores, (0, -width % _BLOCK), value=-math.inf).unflatten(1, (-1, _BLOCK))
    chosen = blocks.amax(-1).topk(k).indices.sort(dim=-1).values
    inside = blocks.gather(1, chosen[..., None].expand(-1, -1, _BLOCK)).flatten(1)
    best, order = inside.sort(dim=-1, descending=True, stable=True)
    best, order = best[:, :k], order[:, :k]
    rows = chosen.gather(1, order // _BLOCK) * _BLOCK + order % _BLOCK
    # Con un empate en el último puesto, el bloque elegido puede no ser el primero: se repasa.
    tied = (scores >= best[:, -1:]).sum(-1) > k
    if tied.any():
        again, places = scores[tied].sort(dim=-1, descending=True, stable=True)
        best[tied], rows[tied] = again[:, :k], places[:, :k]
    return best, rows


def _require_vectors(keys: Tensor, d_k: int | None) -> None:
    require_floating("key", keys)
    if keys.ndim != 2 or (d_k is not None and keys.shape[1] != d_k):
        raise ValueError(
            f"Se esperaban vectores de ancho {d_k or 'd_k'} ([d_k], o [n, d_k] si son varios) y "
            f"llegó la forma {tuple(keys.shape)}."
        )
    if not torch.isfinite(keys).all():
        raise ValueError("Se esperaban claves y consultas finitas y hay valores NaN o infinitos.")


def _require_table(query: Tensor, K: Tensor, V: Tensor | None = None) -> None:
    require_floating("query", query)
    if query.ndim < 1 or K.ndim != 2 or query.shape[-1] != K.shape[1]:
        raise ValueError(
            "Consulta y claves deben tener el mismo ancho d_k: la consulta tiene forma "
            f"{tuple(query.shape)} y K, {tuple(K.shape)}; se esperaba [..., d_k] y [t_k, d_k]."
        )
    if not len(K):
        raise ValueError("No hay claves: se esperaba al menos una fila en K.")
    if V is not None and len(V) != len(K):
        raise ValueError(f"Cada clave lleva un valor: hay {len(K)} claves y {len(V)} valores.")


def _require_search(k: int, beta: float, chunk_size: int) -> None:
    require_finite_beta(beta)
    if k < 1 or chunk_size < 1 or beta < 0:
        raise ValueError(
            "Se esperaba k ≥ 1, chunk_size ≥ 1 y β ≥ 0, y llegó "
            f"k = {k}, chunk_size = {chunk_size}, β = {beta}. Con β negativa, lo más parecido "
            "tendría el menor peso."
        )
