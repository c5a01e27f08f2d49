"""Ejercicios del tema Clasificar textos y los errores frecuentes que saben explicar."""

import math

import torch
import torch.nn.functional as F

from course_lib.judging.exercise import Exercise, Misconception, Part, combinable
from course_lib.models.text_classifier import binary_cross_entropy
from course_lib.primitives.pooling import max_pool, mean_pool

TOLERANCE = 1e-4


def _randn(rng: torch.Generator, *shape: int) -> torch.Tensor:
    return 1.5 * torch.randn(shape, generator=rng)


def _visible(lengths: list[int], t: int) -> torch.Tensor:
    """Marca las posiciones reales de textos con esas longitudes."""
    return torch.arange(t) < torch.tensor(lengths)[:, None]


def _shown(visible):
    return visible.unsqueeze(-1)


# 1 · El máximo sin el relleno


def _max_cases(rng):
    low = _randn(rng, 3, 6, 4) - 8.0  # todo negativo: un cero del relleno ganaría siempre
    low[2] -= 30_000.0  # y un número fijo, por negativo que parezca, también
    dirty = _randn(rng, 2, 5, 3)
    dirty[1, 2:] += 9.0  # el relleno también tiene estado, y aquí es el mayor
    return [
        (dirty, _visible([5, 2], 5)),
        (low, _visible([6, 3, 1], 6)),
        (_randn(rng, 2, 3, 2), _visible([0, 3], 3)),
    ]


@combinable
def _max_with(
    seen=lambda visible: visible,
    fill=-math.inf,
    summary=lambda H: H.amax(dim=-2),
    empty=lambda summary, shown: torch.where(shown.any(dim=-2), summary, 0.0),
):
    """El máximo, por pasos: qué se ve, con qué se tapa lo demás, qué se toma y los vacíos."""

    def implementation(H, visible):
        shown = _shown(seen(visible))
        return empty(summary(H.masked_fill(~shown, fill)), shown)

    return implementation


def _some_word_in_each(H, visible):
    return bool(visible.any(dim=-1).all())


MAX_POOL = Exercise(
    name="text_classifier.max_pool",
    points=2,
    partial=(Part("los textos con alguna palabra", 1, cases=_some_word_in_each),),
    reference=max_pool,
    cases=_max_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "padding_takes_part",
            _max_with(seen=torch.ones_like),
            "el relleno participa: su estado puede ser el mayor, y el resumen cambia con cuántas "
            "columnas de relleno haya; quítalo antes de tomar el máximo",
        ),
        Misconception(
            "zeros_instead_of_infinity",
            _max_with(fill=0.0),
            "pones ceros en lo que tapas, y el cero gana a toda coordenada cuyos valores sean "
            "negativos; hace falta algo que nunca gane",
        ),
        Misconception(
            "multiplies_by_the_mask",
            _max_with(fill=0.0, summary=lambda H: H.sum(dim=-2)),
            "sumas las posiciones: eso no es un máximo",
        ),
        Misconception(
            "inverted_mask",
            _max_with(seen=torch.logical_not),
            "la máscara está al revés: True marca lo visible, y estás resumiendo el relleno",
        ),
        Misconception(
            "over_features",
            _max_with(seen=torch.ones_like, summary=lambda H: H.amax(dim=-1)),
            "tomas el máximo entre las coordenadas de cada posición (el último eje): se pide entre "
            "las posiciones, y que quede un vector de d_model coordenadas por texto",
        ),
        Misconception(
            "returns_a_pair",
            _max_with(summary=lambda H: H.max(dim=-2), empty=lambda pair, shown: tuple(pair)),
            "`max` con `dim` devuelve un par, los valores y sus lugares: quédate con los valores, "
            "o usa `amax`",
        ),
        Misconception(
            "empty_is_infinite",
            _max_with(empty=lambda summary, shown: summary),
            "un texto con todas sus posiciones tapadas queda en −∞, y la capa que sigue da valores "
            "que no son números: su resumen debe ser ceros",
        ),
        Misconception(
            "empty_is_a_large_number",
            _max_with(fill=-1e9, empty=lambda summary, shown: summary),
            "−10⁹ no gana nunca, pero un texto con todas sus posiciones tapadas se queda con él: "
            "su resumen debe ser ceros",
        ),
        Misconception(
            "first_position",
            _max_with(seen=torch.ones_like, summary=lambda H: H[..., 0, :]),
            "tomas el estado de la primera posición; se pide, en cada coordenada, el mayor",
        ),
    ),
)


# 2 · La media sin el relleno


def _mean_cases(rng):
    return [
        (_randn(rng, 2, 5, 3), _visible([5, 2], 5)),
        (_randn(rng, 3, 4, 2), _visible([1, 4, 3], 4)),
        (_randn(rng, 2, 3, 4), _visible([0, 2], 3)),
    ]


@combinable
def _mean_with(
    added=lambda H, visible: H * _shown(visible),
    count=lambda visible: visible.sum(dim=-1, keepdim=True).clamp(min=1),
):
    """La media, por pasos: qué se suma, y entre cuántas posiciones se divide."""
    return lambda H, visible: added(H, visible).sum(dim=-2) / count(visible)


def _everything(H, visible):
    return H


def _full_length(visible):
    return visible.shape[-1]


MEAN_POOL = Exercise(
    name="text_classifier.mean_pool",
    points=1,
    reference=mean_pool,
    cases=_mean_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "padding_takes_part",
            _mean_with(added=_everything, count=_full_length),
            "el relleno participa como si fuera texto: los textos cortos se parecen entre sí solo "
            "porque tienen mucho relleno",
        ),
        Misconception(
            "padding_is_added",
            _mean_with(added=_everything),
            "en la suma entra también el relleno: pon a cero sus estados antes de sumar",
        ),
        Misconception(
            "divided_by_full_length",
            _mean_with(count=_full_length),
            "divides por la longitud con relleno: el mismo texto se encoge si le toca un lote más "
            "largo; divide por sus posiciones reales",
        ),
        Misconception(
            "not_divided",
            _mean_with(count=lambda visible: 1),
            "es una suma: falta dividir por cuántas son las posiciones reales",
        ),
        Misconception(
            "divided_by_the_whole_batch",
            _mean_with(count=lambda visible: visible.sum()),
            "divides por las posiciones de todo el lote; cada texto se divide por las suyas",
        ),
        Misconception(
            "over_features",
            lambda H, visible: H.mean(dim=-1),
            "promedias las coordenadas de cada posición; se promedian las posiciones de cada texto",
        ),
        Misconception(
            "empty_divides_by_zero",
            _mean_with(count=lambda visible: visible.sum(dim=-1, keepdim=True)),
            "un texto sin posiciones visibles divide cero entre cero: cuenta al menos una para "
            "que su resumen sean ceros",
        ),
        Misconception(
            "counts_one_more",
            _mean_with(count=lambda visible: visible.sum(dim=-1, keepdim=True) + 1),
            "divides por una posición de más: para no dividir por cero, pon un mínimo en vez de "
            "sumar uno",
        ),
    ),
)


# 3 · La entropía cruzada binaria, desde los logits


def _loss_cases(rng):
    z = _randn(rng, 4, 2)
    y = (torch.rand(4, 2, generator=rng) < 0.5).float()
    y[0] = torch.tensor([0.0, 1.0])
    huge = torch.tensor([300.0, -300.0, 2.0, 0.5])
    wrong = torch.tensor([0.0, 1.0, 1.0, 0.0])
    return [(z, y), (_randn(rng, 5), torch.rand(5, generator=rng)), (huge, wrong)]


@combinable
def _loss_with(
    labels=lambda y: y,
    logs=lambda z: (F.logsigmoid(z), F.logsigmoid(-z)),
    gain=lambda y, yes, no: y * yes + (1 - y) * no,
    reduce=torch.mean,
    sign=-1,
):
    """La entropía, por pasos: etiquetas, log p y log(1 − p), qué suma cada una, media y signo."""
    return lambda z, y: sign * reduce(gain(labels(y), *logs(z)))


def _logs_of(probability):
    def logs(z):
        p = probability(z)
        return p.log(), (1 - p).log()

    return logs


def _moderate(z, y):
    return bool((z.abs() < 50).all())


BINARY_CROSS_ENTROPY = Exercise(
    name="text_classifier.binary_cross_entropy",
    answers=(
        "torch.nn.functional.binary_cross_entropy",
        "torch.nn.functional.binary_cross_entropy_with_logits",
        "torch.nn.functional.multilabel_soft_margin_loss",
        "torch.nn.functional.soft_margin_loss",
    ),
    points=2,
    partial=(Part("los logits moderados", 1, cases=_moderate),),
    reference=binary_cross_entropy,
    cases=_loss_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "not_stable",
            _loss_with(logs=_logs_of(torch.sigmoid)),
            "con logits grandes no da un número finito: σ(z) se redondea a 0 o a 1, y el logaritmo "
            "de 0 es −∞ (o se desborda la exponencial). Usa los logits, sin calcular la "
            "probabilidad",
        ),
        Misconception(
            "clipped",
            _loss_with(logs=_logs_of(lambda z: torch.sigmoid(z).clamp(1e-7, 1 - 1e-7))),
            "recortas la probabilidad para que el logaritmo no se vaya a infinito: así un error "
            "enorme cuesta lo mismo que uno grande y deja de dar gradiente; usa los logits",
        ),
        Misconception(
            "no_sigmoid",
            _loss_with(logs=lambda z: (z, 1 - z)),
            "usas el logit como si ya fuera un logaritmo de probabilidad: falta log σ(z)",
        ),
        Misconception(
            "only_positives",
            _loss_with(gain=lambda y, yes, no: y * yes),
            "falta la mitad de la fórmula: las etiquetas 0 también cuestan, con log(1 − σ(z))",
        ),
        Misconception(
            "sum",
            _loss_with(reduce=torch.sum),
            "es la suma: se pide la media, para que la pérdida no crezca con el tamaño del lote",
        ),
        Misconception(
            "sign",
            _loss_with(sign=1),
            "el signo está al revés: los logaritmos son negativos, y la pérdida debe ser positiva",
        ),
        Misconception(
            "softmax",
            _loss_with(
                logs=lambda z: (F.log_softmax(z, dim=-1), torch.zeros_like(z)),
                reduce=lambda gains: gains.sum(dim=-1).mean(),
            ),
            "usas un softmax, con el que las clases compiten; aquí cada logit es una pregunta de "
            "sí o no, con su sigmoide",
        ),
        Misconception(
            "swapped_labels",
            _loss_with(labels=lambda y: 1 - y),
            "las etiquetas están cambiadas: con y = 1 el costo es −log σ(z)",
        ),
    ),
)


# 4 · Una bolsa de palabras


def _without_column(counts, column):
    return counts.index_fill(-1, torch.tensor(column), 0)


@combinable
def _bag_with(
    texts=lambda token_ids: token_ids,
    count=lambda marks: marks.sum(dim=-2),
    hide=_without_column,
    after=lambda counts: counts,
):
    """La bolsa, por pasos: qué textos, cómo se cuentan sus palabras, y el relleno."""

    def implementation(token_ids, vocab_size, pad_id):
        counts = count(F.one_hot(texts(token_ids), vocab_size))
        return after(hide(counts, pad_id))

    return implementation


def _bag_cases(rng):
    cases = []
    for batch, t, vocab_size, pad_id in ((3, 8, 6, 0), (2, 5, 4, 3), (1, 6, 9, 0)):
        words = [word for word in range(vocab_size) if word != pad_id]
        drawn = torch.randint(len(words), (batch, t), generator=rng)
        ids = torch.tensor(words)[drawn]
        ids[:, 1] = ids[:, 0]  # una palabra repetida: contar no es lo mismo que marcar
        ids[0, -2:] = pad_id
        cases.append((ids, vocab_size, pad_id))
    return cases


def _removed_column(counts, column):
    return torch.cat([counts[..., :column], counts[..., column + 1 :]], dim=-1)


BAG_OF_WORDS = Exercise(
    name="text_classifier.bag_of_words",
    points=1,
    reference=_bag_with(),
    cases=_bag_cases,
    misconceptions=(
        Misconception(
            "counts_the_padding",
            _bag_with(hide=lambda counts, pad_id: counts),
            "cuentas también el relleno: su columna no dice nada del texto",
        ),
        Misconception(
            "presence",
            _bag_with(count=lambda marks: marks.amax(dim=-2)),
            "marcas qué palabras están, sin contar cuántas veces",
        ),
        Misconception(
            "one_bag_for_all",
            _bag_with(texts=torch.flatten),
            "metes todos los textos en la misma bolsa: hace falta una fila por texto",
        ),
        Misconception(
            "frequencies",
            _bag_with(after=lambda counts: counts / counts.sum(dim=-1, keepdim=True)),
            "divides por el total: se piden las cuentas",
        ),
        Misconception(
            "drops_the_column",
            _bag_with(hide=_removed_column),
            "quitas la columna del relleno, y así las palabras que siguen cambian de número; "
            "déjala en cero",
        ),
        Misconception(
            "padding_is_always_zero",
            _bag_with(hide=lambda counts, pad_id: _without_column(counts, 0)),
            "supones que el relleno es siempre el 0: usa `pad_id`",
        ),
    ),
)


# 5 · Lo que dice el nombre de un archivo


@combinable
def _name_with(
    is_positive=lambda path, folder: folder == "pos",
    label=int,
    grade=lambda rating: rating,
    number=int,
    order=lambda label, number, rating: (label, number, rating),
):
    """Leer el nombre, por pasos: de dónde sale la etiqueta, los números y su orden."""

    def implementation(path):
        folder, file = path.split("/")[-2:]
        first, rating = file.removesuffix(".txt").split("_")
        return order(label(is_positive(path, folder)), number(first), number(grade(rating)))

    return implementation


def _name_cases(rng):
    """Rutas como las de IMDB: cortas y largas, con y sin raíz, positivas y negativas."""
    cases = []
    for root, split, label in (
        ("aclImdb/", "train", "pos"),
        ("", "test", "neg"),
        ("datos/positivas/", "test", "neg"),
        ("datos/negativas/", "train", "pos"),
        ("datos/todas/", "train", "pos"),
        ("", "test", "pos"),
    ):
        number = int(torch.randint(100, 12_500, (), generator=rng))
        rating = int(torch.randint(4, (), generator=rng)) + (7 if label == "pos" else 1)
        cases.append((f"{root}{split}/{label}/{number}_{rating}.txt",))
    return [*cases, ("aclImdb/train/pos/81_10.txt",)]


READ_NAME = Exercise(
    name="text_classifier.read_name",
    points=1,
    reference=_name_with(),
    cases=_name_cases,
    misconceptions=(
        Misconception(
            "searches_the_whole_path",
            _name_with(is_positive=lambda path, folder: "pos" in path),
            "buscas «pos» en toda la ruta, y puede estar en otra carpeta: la etiqueta es la "
            "carpeta que contiene al archivo",
        ),
        Misconception(
            "searches_neg_in_the_whole_path",
            _name_with(is_positive=lambda path, folder: "neg" not in path),
            "buscas «neg» en toda la ruta, y puede estar en otra carpeta: la etiqueta es la "
            "carpeta que contiene al archivo",
        ),
        Misconception(
            "first_digit",
            _name_with(grade=lambda rating: rating[0]),
            "tomas solo el primer dígito de la nota: la más alta tiene dos",
        ),
        Misconception(
            "last_digit",
            _name_with(grade=lambda rating: rating[-1]),
            "tomas solo el último dígito de la nota: la más alta tiene dos",
        ),
        Misconception(
            "swapped",
            _name_with(order=lambda label, number, rating: (label, rating, number)),
            "el número y la nota están intercambiados: en el nombre y en la terna, va antes el "
            "número",
        ),
        Misconception(
            "split_as_label",
            _name_with(is_positive=lambda path, folder: "train" in path),
            "«train» y «test» dicen en qué parte está la reseña, no si es buena",
        ),
        Misconception(
            "texts_not_numbers",
            _name_with(number=str),
            "devuelves textos: el número y la nota son enteros",
        ),
        Misconception(
            "inverted",
            _name_with(label=lambda is_positive: 1 - is_positive),
            "la etiqueta está al revés: «pos» es 1",
        ),
    ),
)


# 6 · Encuentra el error: un clasificador que mira el relleno


def _attend(X, W_q, W_k, W_v, mask):
    scores = (X @ W_q) @ (X @ W_k).mT / math.sqrt(W_q.shape[-1])
    scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-1) @ (X @ W_v)


def _keys(visible):
    return visible.unsqueeze(-2)


@combinable
def _classify_with(mask=_keys, pool=max_pool):
    """El clasificador, por pasos: qué oculta la atención y cómo se resume el texto."""

    def implementation(X, visible, W_q, W_k, W_v, W, b):
        H = _attend(X, W_q, W_k, W_v, mask(visible))
        return pool(H, visible) @ W + b

    return implementation


def _classify_cases(rng):
    def parameters(d, d_k, d_v):
        return (
            *(_randn(rng, d, n) for n in (d_k, d_k, d_v)),
            _randn(rng, d_v, 2),
            _randn(rng, 2),
        )

    # Entradas menores: con el softmax saturado, dos posiciones empatan en el máximo.
    # Con entradas negativas y W_v positiva, los estados son negativos: un cero ganaría el máximo.
    W_q, W_k, W_v, *output = parameters(4, 4, 3)
    negative = (W_q, W_k, W_v.abs(), *output)
    return [
        (0.4 * _randn(rng, 5, 5, 3), _visible([5, 2, 2, 3, 2], 5), *parameters(3, 2, 4)),
        (-0.4 * _randn(rng, 3, 4, 4).abs(), _visible([1, 4, 3], 4), *negative),
    ]


CLASSIFIER_BUG = Exercise(
    name="text_classifier.classifier_bug",
    points=2,
    reference=_classify_with(),
    cases=_classify_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "still_hides_queries",
            _classify_with(mask=_shown),
            "las palabras reales siguen mirando el relleno: en la atención falta la máscara, u "
            "oculta filas (consultas); lo que se oculta son columnas (claves)",
        ),
        Misconception(
            "inverted_mask",
            _classify_with(mask=lambda visible: ~_keys(visible)),
            "la máscara de la atención quedó al revés: solo se ve el relleno",
        ),
        Misconception(
            "pools_the_padding",
            _classify_with(pool=lambda H, visible: H.amax(dim=-2)),
            "el máximo incluye el relleno: también sus posiciones tienen un estado",
        ),
        Misconception(
            "hides_both_in_pooling",
            _classify_with(pool=lambda H, visible: (H * _shown(visible)).amax(dim=-2)),
            "el máximo ve ceros en el relleno, y ganan a los valores negativos",
        ),
        Misconception(
            "mean",
            _classify_with(pool=mean_pool),
            "cambiaste el máximo por la media; ese no era el error",
        ),
    ),
)


EXERCISES = (
    MAX_POOL,
    MEAN_POOL,
    BINARY_CROSS_ENTROPY,
    BAG_OF_WORDS,
    READ_NAME,
    CLASSIFIER_BUG,
)
