"""Ejercicios del tema Traductor: cómo se entrena y cómo escribe, con sus errores frecuentes.

Las referencias se escriben con PyTorch: `checks` no importa `training` ni `decoding`. Una prueba
las compara con las funciones de la biblioteca.
"""

import math
import operator
from itertools import pairwise

import torch
import torch.nn.functional as F

from course_lib.judging.exercise import Exercise, Misconception, Part, combinable

# 1 · Forzado del profesor

PAD, START, END = 0, 1, 2


def _sentences(rng, rows, length, vocab, pad_id):
    """Oraciones de largos distintos, con comienzo, fin y relleno."""
    target = torch.full((rows, length), pad_id)
    for row in range(rows):
        words = length - 2 if row == 0 else int(torch.randint(1, length - 2, (1,), generator=rng))
        target[row, 0], target[row, words + 1] = START, END
        target[row, 1 : words + 1] = torch.randint(3, vocab, (words,), generator=rng)
    return target


def _teacher_cases(rng):
    return [
        (_sentences(rng, 3, 7, 20, PAD), PAD),
        (_sentences(rng, 1, 5, 9, PAD), PAD),
        (_sentences(rng, 4, 6, 30, 30), 30),
    ]


def _whole(target):
    return target


def _all_but_last(target):
    return target[:, :-1]


def _all_but_first(target):
    return target[:, 1:]


def _counted_by_input(x, y, pad_id):
    return x != pad_id


@combinable
def _teacher_with(
    *, inputs=_all_but_last, labels=_all_but_first, counted=lambda x, y, pad_id: y != pad_id
):
    """Qué parte de la oración entra, cuál se responde y qué posiciones cuentan."""

    def implementation(target, pad_id):
        x, y = inputs(target), labels(target)
        return x, y, counted(x, y, pad_id)

    return implementation


TEACHER_FORCING = Exercise(
    name="translator.teacher_forcing",
    points=1,
    reference=_teacher_with(),
    cases=_teacher_cases,
    misconceptions=(
        Misconception(
            "no_shift",
            _teacher_with(labels=_all_but_last),
            "lo que entra y lo que se responde son lo mismo: el modelo solo tendría que copiar el "
            "token que está leyendo",
        ),
        Misconception(
            "copies_everything",
            _teacher_with(inputs=_whole, labels=_whole),
            "no desplazas nada: entra la oración entera y se pide la oración entera",
        ),
        Misconception(
            "swapped",
            _teacher_with(inputs=_all_but_first, labels=_all_but_last),
            "están intercambiados: en cada posición se pediría el token anterior, que ya se conoce",
        ),
        Misconception(
            "answers_first",
            _teacher_with(inputs=_all_but_first, labels=_all_but_last, counted=_counted_by_input),
            "devuelves lo que se responde antes que lo que entra: el orden pedido es entradas, "
            "respuestas y cuáles cuentan",
        ),
        Misconception(
            "rolled",
            _teacher_with(inputs=lambda t: t.roll(1, dims=1), labels=_whole),
            "roll da la vuelta: el último token aparece delante del comienzo",
        ),
        Misconception(
            "counts_the_padding",
            _teacher_with(counted=lambda x, y, pad: torch.ones_like(y, dtype=bool)),
            "cuentas también el relleno: el modelo aprendería a predecirlo, y en un lote con "
            "oraciones cortas sería casi toda la pérdida",
        ),
        Misconception(
            "counts_by_input",
            _teacher_with(counted=_counted_by_input),
            "qué posiciones cuentan lo dice lo que hay que responder, y miras lo que entra: la que "
            "lee el fin no cuenta, porque detrás solo hay relleno",
        ),
        Misconception(
            "inverted",
            _teacher_with(counted=lambda x, y, pad: y == pad),
            "marcas el relleno; True es lo que cuenta",
        ),
    ),
)


# 2 · Suavizado de etiquetas


def _label_smoothing(logits, targets, epsilon, pad_id):
    return F.cross_entropy(logits, targets, label_smoothing=epsilon, ignore_index=pad_id)


def _smoothing_cases(rng):
    cases = []
    for rows, vocab, epsilon, pad in ((6, 5, 0.1, 0), (9, 12, 0.3, 0), (4, 7, 0.0, 6)):
        logits = 2 * torch.randn(rows, vocab, generator=rng, dtype=torch.float64)
        targets = torch.randint(1, vocab - 1, (rows,), generator=rng)
        targets[torch.randperm(rows, generator=rng)[:2]] = pad
        cases.append((logits, targets, epsilon, pad))
    return cases


@combinable
def _smoothing_with(
    *,
    right=lambda e, v: 1 - e + e / v,
    others=lambda e, v: e / v,
    row=lambda weights, log_p: (weights * log_p).sum(-1),
    gather=lambda rows, kept: rows[kept].mean(),
    sign=-1,
):
    """Cuánto pesan el token correcto y cada uno de los demás, y cómo se reúne la pérdida."""

    def implementation(logits, targets, epsilon, pad_id):
        log_p = torch.log_softmax(logits, -1)
        vocab = logits.shape[-1]
        weights = torch.full_like(log_p, others(epsilon, vocab))
        weights.scatter_(-1, targets[:, None], right(epsilon, vocab))
        return sign * gather(row(weights, log_p), targets != pad_id)

    return implementation


def _padding_in_the_uniform(logits, targets, epsilon, pad_id):
    log_p, kept = torch.log_softmax(logits, -1), targets != pad_id
    right = log_p[kept].gather(-1, targets[kept][:, None]).mean()
    return -(1 - epsilon) * right - epsilon * log_p.mean()


LABEL_SMOOTHING = Exercise(
    name="translator.label_smoothing",
    points=2,
    reference=_label_smoothing,
    cases=_smoothing_cases,
    gradient=True,
    tolerance=1e-6,  # construir las etiquetas con one_hot las deja en float32
    misconceptions=(
        Misconception(
            "no_smoothing",
            _smoothing_with(right=lambda e, v: 1.0, others=lambda e, v: 0.0),
            "no suavizas: ε no interviene",
        ),
        Misconception(
            "right_token_whole",
            _smoothing_with(right=lambda e, v: 1.0),
            "el token correcto conserva todo su peso y además repartes ε: las etiquetas suavizadas "
            "deben sumar 1",
        ),
        Misconception(
            "only_the_others",
            _smoothing_with(right=lambda e, v: 1 - e, others=lambda e, v: e / (v - 1)),
            "repartes ε solo entre los tokens equivocados; aquí se reparte entre todo el "
            "vocabulario, y el correcto también recibe su parte",
        ),
        Misconception(
            "right_token_without_share",
            _smoothing_with(right=lambda e, v: 1 - e),
            "al token correcto le falta su parte del reparto: pesa 1 − ε + ε/vocab, y así las "
            "etiquetas suman 1",
        ),
        Misconception(
            "right_token_whole_and_share",
            _smoothing_with(right=lambda e, v: 1 + e / v),
            "el token correcto recibe su parte de ε sin haber cedido nada: antes debe bajar a "
            "1 − ε",
        ),
        Misconception(
            "epsilon_each",
            _smoothing_with(right=lambda e, v: 1 - e, others=lambda e, v: e),
            "cada token recibe ε entero: ese ε se reparte, así que falta dividir por el tamaño del "
            "vocabulario",
        ),
        Misconception(
            "sums_the_vocabulary",
            _smoothing_with(right=lambda e, v: 1.0, others=lambda e, v: e),
            "en el reparto sumas sobre todo el vocabulario, y ahí va un promedio: a cada token le "
            "toca ε/vocab",
        ),
        Misconception(
            "wrong_sign",
            _smoothing_with(sign=1),
            "el signo está al revés: los logaritmos son negativos, y la pérdida debe ser positiva",
        ),
        Misconception(
            "swapped_weights",
            _smoothing_with(right=lambda e, v: e + (1 - e) / v, others=lambda e, v: (1 - e) / v),
            "los pesos están intercambiados: el token correcto lleva 1 − ε, y el reparto, ε",
        ),
        Misconception(
            "padding_in_the_uniform",
            _padding_in_the_uniform,
            "quitas el relleno en el término del token correcto, pero no en el otro promedio: ahí "
            "también sobran esas filas",
        ),
        Misconception(
            "counts_padding",
            _smoothing_with(gather=lambda rows, kept: rows.mean()),
            "el relleno también cuenta: quita sus filas antes de promediar",
        ),
        Misconception(
            "divides_by_everything",
            _smoothing_with(gather=lambda rows, kept: (rows * kept).mean()),
            "anulas las filas de relleno, pero al promediar divides también por ellas: la pérdida "
            "se acercaría a cero solo porque hay más relleno",
        ),
        Misconception(
            "sums",
            _smoothing_with(gather=lambda rows, kept: rows[kept].sum()),
            "sumas las filas en lugar de promediarlas: la pérdida, y con ella el paso, crecería "
            "con el tamaño del lote",
        ),
        Misconception(
            "log_of_mean",
            _smoothing_with(row=lambda weights, log_p: (weights * log_p.exp()).sum(-1).log()),
            "suavizas las predicciones y no las etiquetas: el promedio con la uniforme va fuera "
            "del logaritmo",
        ),
    ),
)


# 3 · Calentamiento


def _warmup_cases(rng):
    cases = []
    for width, most in ((64, 4000), (8, 100)):
        d_model = width * int(torch.randint(4, 13, (1,), generator=rng))
        warmup = int(torch.randint(most // 2, 2 * most, (1,), generator=rng))
        early, late = (int(torch.randint(1, warmup, (1,), generator=rng)) for _ in range(2))
        cases += [(step, d_model, warmup) for step in (1, early, warmup, warmup + late)]
    return cases


@combinable
def _warmup_with(
    *,
    count=lambda s: s,
    scale=lambda d, w: d**-0.5,
    falls=lambda s, w: s**-0.5,
    rises=lambda s, w: s * w**-1.5,
    choose=min,
):
    """Una recta que sube y una curva que baja: de las dos se elige, y el ancho da la escala."""

    def implementation(step, d_model, warmup):
        s = count(step)
        return scale(d_model, warmup) * choose(falls(s, warmup), rises(s, warmup))

    return implementation


WARMUP = Exercise(
    name="translator.warmup",
    points=1,
    reference=_warmup_with(),
    cases=_warmup_cases,
    tolerance=1e-9,
    misconceptions=(
        Misconception(
            "maximum",
            _warmup_with(choose=max),
            "tomas el mayor de los dos términos, y así la tasa acabaría creciendo sin fin",
        ),
        Misconception(
            "never_decays",
            _warmup_with(choose=lambda falling, rising: rising),
            "solo sube: falta el término que, después del calentamiento, baja como la raíz inversa",
        ),
        Misconception(
            "no_warmup",
            _warmup_with(choose=lambda falling, rising: falling),
            "al principio no sube: falta el término lineal del calentamiento, o nunca es el menor "
            "(revisa el signo de su exponente)",
        ),
        Misconception(
            "no_width",
            _warmup_with(scale=lambda d, w: 1.0),
            "falta el ancho: la tasa se multiplica por la raíz inversa de d_model",
        ),
        Misconception(
            "width_grows",
            _warmup_with(scale=lambda d, w: d**0.5),
            "la tasa crece con el ancho: revisa el signo del exponente de d_model",
        ),
        Misconception(
            "counts_from_zero",
            _warmup_with(count=lambda s: s + 1),
            "el primer paso ya es el 1: no le sumes otro",
        ),
        Misconception(
            "exponents_without_parentheses",
            _warmup_with(
                scale=lambda d, w: d**-1 / 2,
                falls=lambda s, w: s**-1 / 2,
                rises=lambda s, w: s * w**-3 / 2,
            ),
            "falta un paréntesis en los exponentes: en Python, x**-1/2 es (x**-1)/2",
        ),
        Misconception(
            "stays_at_the_top",
            _warmup_with(falls=lambda s, w: w**-0.5),
            "la tasa no baja después del calentamiento: ahí debe ir como la raíz inversa del paso",
        ),
        Misconception(
            "peak_is_one",
            _warmup_with(scale=lambda d, w: w**0.5),
            "la escala es la que lleva la curva a 1, y d_model no interviene: en s = warmup debe "
            "valer 1/√(d_model·warmup)",
        ),
        Misconception(
            "adds_both",
            _warmup_with(choose=operator.add),
            "sumas los dos términos; se toma el menor",
        ),
        Misconception(
            "wrong_slope",
            _warmup_with(rises=lambda s, w: s / w),
            "los dos términos deben encontrarse en s = warmup, y con tu pendiente lo harían antes",
        ),
    ),
)


# 4 · Penalización por longitud


def _scores_cases(rng):
    def draw(n, alpha):
        log_p = -8 * torch.rand(n, generator=rng, dtype=torch.float64) - 0.5
        return log_p, torch.randint(1, 30, (n,), generator=rng), alpha

    return [draw(5, 0.6), draw(3, 1.0), draw(4, 0.0), draw(4, 0.3)]


@combinable
def _scores_with(
    *, score=lambda log_p: log_p, apply=operator.truediv, penalty=lambda n, a: ((5 + n) / 6) ** a
):
    """Qué se corrige, con qué penalización y cómo se aplica."""
    return lambda log_p, n, a: apply(score(log_p), penalty(n, a))


SCORES = Exercise(
    name="translator.length_penalty",
    points=1,
    reference=_scores_with(),
    cases=_scores_cases,
    gradient=True,
    tolerance=1e-6,  # `lengths` es de enteros: su logaritmo, o una raíz, sale en float32
    misconceptions=(
        Misconception(
            "multiplies",
            _scores_with(apply=operator.mul),
            "multiplicas por la penalización, y se divide: log P es negativo, y multiplicarlo "
            "castiga todavía más a las largas",
        ),
        Misconception(
            "not_normalised",
            _scores_with(penalty=lambda n, a: 1.0),
            "no corriges por la longitud: las cortas ganan solo por serlo",
        ),
        Misconception(
            "power_of_the_length",
            _scores_with(penalty=lambda n, a: n**a),
            "tu penalización es n^α, la de otras bibliotecas; esta suma 5 a la longitud y divide "
            "por 6, para que con un token no cambie nada",
        ),
        Misconception(
            "no_denominator",
            _scores_with(penalty=lambda n, a: (5.0 + n) ** a),
            "falta el 6^α del denominador: con un solo token, lp debe valer 1",
        ),
        Misconception(
            "missing_parentheses",
            _scores_with(penalty=lambda n, a: (5 + n) ** a * 6**a),
            "el 6^α multiplica a (5 + n)^α, y es su divisor: en a / b / c, c va con b en el "
            "divisor; faltan paréntesis",
        ),
        Misconception(
            "mean_per_token",
            _scores_with(penalty=lambda n, a: n),
            "usas la longitud misma, como en la media por token: la penalización depende de α, y "
            "con α = 0 no corrige nada",
        ),
        Misconception(
            "wrong_constant",
            _scores_with(penalty=lambda n, a: (5.0 + n) ** a / 6),
            "el 6 del denominador también lleva el exponente α",
        ),
        Misconception(
            "no_exponent",
            _scores_with(penalty=lambda n, a: (5 + n) / 6),
            "α no interviene: es el exponente de la penalización",
        ),
        Misconception(
            "power_inside",
            _scores_with(penalty=lambda n, a: (5 + n**a) / 6),
            "el exponente α es de toda la suma 5 + n, no solo de n",
        ),
        Misconception(
            "probability",
            _scores_with(score=torch.exp),
            "corriges la probabilidad; lo que se corrige es su logaritmo",
        ),
    ),
)


# 5 · Un paso del haz


def _step_cases(rng):
    def draw(hypotheses, vocab, beam_size):
        totals = -3 * torch.rand(hypotheses, generator=rng, dtype=torch.float64)
        log_p = 2 * torch.randn(hypotheses, vocab, generator=rng, dtype=torch.float64)
        # Una hipótesis clara, con dos continuaciones buenas, y las demás detrás.
        totals[0], log_p[0, :2] = -0.1, 6.0 + torch.rand(2, generator=rng, dtype=torch.float64)
        return totals, torch.log_softmax(log_p, -1), beam_size

    # La última es la que menos traía, y una de sus continuaciones entra entre las tres mejores.
    totals, log_p, _ = draw(3, 7, 3)
    totals[1:] = torch.tensor([-1.0, -1.5])
    log_p[1], log_p[2] = torch.log_softmax(0.1 * log_p[1:], -1)
    log_p[2] = torch.log_softmax(log_p[2] + 6.0 * (torch.arange(7) == 4), -1)
    last = totals, log_p, 3
    return [draw(3, 8, 3), draw(1, 5, 4), draw(4, 6, 2), draw(2, 9, 5), last]


@combinable
def _step_with(
    *,
    extend=lambda totals, log_p: totals[:, None] + log_p,
    pick=lambda extended, size: extended.flatten().topk(size),
    divide=lambda i, hypotheses, vocab: (i // vocab, i % vocab),
):
    """Cuánto vale cada extensión, cuáles se eligen, y de qué padre y qué token es cada una."""

    def implementation(totals, log_p, beam_size):
        values, places = pick(extend(totals, log_p), beam_size)
        return values, *divide(places, *log_p.shape)

    return implementation


def _best_of_each(extended, size):
    values, tokens = extended.max(-1)
    order = values.argsort(descending=True)[:size]
    return values[order], order * extended.shape[1] + tokens[order]


BEAM_STEP = Exercise(
    name="translator.beam_step",
    points=2,
    reference=_step_with(),
    cases=_step_cases,
    misconceptions=(
        Misconception(
            "forgets_the_past",
            _step_with(extend=lambda totals, log_p: log_p),
            "comparas solo el último token: la probabilidad de una extensión es la del camino "
            "entero, y a log_p hay que sumarle lo que traía su hipótesis",
        ),
        Misconception(
            "multiplies_logs",
            _step_with(extend=lambda totals, log_p: totals[:, None] * log_p),
            "multiplicas logaritmos: las probabilidades se multiplican, sus logaritmos se suman",
        ),
        Misconception(
            "adds_probabilities",
            _step_with(extend=lambda totals, log_p: totals[:, None] + log_p.exp()),
            "sumas una probabilidad a un logaritmo: deja log_p como está",
        ),
        Misconception(
            "one_per_hypothesis",
            _step_with(pick=_best_of_each),
            "tomas la mejor extensión de cada hipótesis: dos buenas pueden venir de la misma, y "
            "entonces otra hipótesis no deja ninguna",
        ),
        Misconception(
            "only_the_best_hypothesis",
            _step_with(pick=lambda extended, size: extended[0].topk(size)),
            "extiendes una sola hipótesis: deben competir las extensiones de todas",
        ),
        Misconception(
            "swapped_parent_and_token",
            _step_with(divide=lambda i, hypotheses, vocab: (i % vocab, i // vocab)),
            "el padre y el token están intercambiados: con las filas una detrás de otra, el "
            "cociente dice la fila y el resto la columna",
        ),
        Misconception(
            "divides_by_the_beam",
            _step_with(divide=lambda i, hypotheses, vocab: (i // hypotheses, i % hypotheses)),
            "cada hipótesis ocupa tantos lugares como tokens tiene el vocabulario: se divide por "
            "vocab, no por el número de hipótesis",
        ),
        Misconception(
            "divides_by_the_size",
            _step_with(divide=lambda i, hypotheses, vocab: (i // len(i), i % len(i))),
            "divides por beam_size: en la fila de cada hipótesis hay vocab lugares, y es por vocab",
        ),
        Misconception(
            "the_worst",
            _step_with(pick=lambda extended, size: extended.flatten().topk(size, largest=False)),
            "te quedas con los menores: log P es negativo, y el mayor es el más cercano a cero",
        ),
    ),
)


# 6 · La búsqueda entera


def _likeliest(extended, size):
    return sorted(extended, key=lambda e: -e[1])[:size]


@combinable
def _search_with(
    *,
    prune=lambda extended, size, finished, end: _likeliest(extended, size),
    stays=lambda tokens, end: tokens[-1] != end,
    stop=lambda finished, open_, size, worth: False,
    compete=lambda finished, open_: finished or open_,
    length=len,
    penalty=lambda n, a: ((5 + n) / 6) ** a,
    rank=operator.truediv,
    text=lambda tokens, start, end: tokens,
    score=operator.truediv,
):
    """La búsqueda en haz: qué hipótesis quedan, cuándo parar, cuál gana y qué se devuelve de ella.

    Una hipótesis es la pareja de sus tokens y de su log P.
    """

    def implementation(log_p, start, end, beam_size, alpha, max_length):
        def worth(hypothesis, by=rank):
            tokens, total = hypothesis
            return by(total, penalty(length(tokens), alpha))

        open_, finished = [([], 0.0)], []
        for _ in range(max_length):
            extended = [
                ([*tokens, y], total + log_p[tokens[-1] if tokens else start, y].item())
                for tokens, total in open_
                for y in range(len(log_p))
            ]
            best = prune(extended, beam_size, finished, end)
            finished += [each for each in best if each[0][-1] == end]
            open_ = [each for each in best if stays(each[0], end)]
            if stop(finished, open_, beam_size, worth):
                break
        winner = max(compete(finished, open_), key=worth)
        return text(winner[0], start, end), worth(winner, by=score)

    return implementation


def _some_finished(finished, open_, size, worth):
    return bool(finished)


def _enough_finished(finished, open_, size, worth):
    return len(finished) >= size


def _finished_ahead(finished, open_, size, worth):
    """La mejor terminada va por delante de las abiertas, con lo que llevan escrito."""
    return bool(finished) and max(map(worth, finished)) >= max(map(worth, open_), default=-math.inf)


def _finished_more_likely(finished, open_, size, worth):
    return _finished_ahead(finished, open_, size, lambda e: e[1])


def _shrinking(extended, size, finished, end):
    """Cada hipótesis que terminó dejó un lugar menos en el haz, para siempre."""
    return _likeliest(extended, max(size - len(finished), 0))


def _best_from_each(extended, size, finished, end):
    """Las `size` mejores de cada hipótesis: el haz crece sin freno."""
    parents = sorted({tuple(tokens[:-1]) for tokens, _ in extended})
    groups = [[e for e in extended if tuple(e[0][:-1]) == parent] for parent in parents]
    return [e for group in groups for e in _likeliest(group, size)]


def _refilling(extended, size, finished, end):
    """Cuando una hipótesis termina, su lugar lo toma otra: siempre hay `size` abiertas."""
    ended = [e for e in _likeliest(extended, size) if e[0][-1] == end]
    return ended + _likeliest([e for e in extended if e[0][-1] != end], size)


def _has_ties(*inputs):
    """Si en un paso empatan dos que importan: con las mismas transiciones en otro orden."""
    gaps = []

    def prune(extended, size, finished, end):
        ranked = _likeliest(extended, size + 1)
        gaps.extend(better[1] - worse[1] for better, worse in pairwise(ranked))
        return ranked[:size]

    _search_with(prune=prune)(*inputs)
    return min(gaps) < 1e-9


def _clear_choice(*inputs):
    """Si gana la misma aunque la longitud se cuente con otra constante, de 0 a 6 en lugar de 5."""
    short, long = (_search_with(penalty=lambda n, a, c=c: (c + n) ** a)(*inputs) for c in (0, 6))
    return short[0] == long[0]


def _search_cases(rng):
    """Tablas al azar, y otras a mano: gana la larga o la segunda, no termina ninguna, sobra una."""
    shapes = [(5, 2, 0.6, 5), (6, 3, 1.0, 5), (4, 2, 0.0, 4), (6, 2, 1.0, 6), (5, 3, 0.6, 6)]
    cases = []
    for vocab, beam_size, alpha, limit in shapes * 3:
        case = None
        while case is None or _has_ties(*case):
            logits = 2 * torch.randn(vocab, vocab, generator=rng, dtype=torch.float64)
            case = torch.log_softmax(logits, -1), 0, vocab - 1, beam_size, alpha, limit
        cases.append(case)
    jitter = 0.001 * torch.rand(5, 5, generator=rng, dtype=torch.float64)
    long = torch.full((5, 5), 0.002, dtype=torch.float64) + jitter
    long[0, 4], long[0, 1] = 0.5, 0.43
    long[1, 2] = long[2, 3] = long[3, 4] = long[4, 4] = 0.97
    long[1, 4] = long[2, 4] = 0.0005  # nadie más termina antes que la larga
    second = long.clone()
    second[0, 4], second[0, 1], second[1, 4] = 0.3, 0.65, 0.95
    endless = long.clone()
    endless[:, 4] = 1e-6
    endless[2, 2], endless[2, 3] = 0.95, 0.01  # una hipótesis puede repetir un token
    # La tercera del primer paso sería la mejor, pero no cabe en un haz de dos.
    third = torch.full((5, 5), 0.25, dtype=torch.float64) + jitter
    third[0] = torch.tensor([0.003, 0.335, 0.315, 0.007, 0.34], dtype=torch.float64)
    third[1, 2], third[1, 4], third[2] = 0.1, 0.1, torch.tensor([0.004, 0.004, 0.004, 0.003, 0.985])
    # En el segundo paso, la tercera extensión de todas sería la mejor, y tampoco cabe.
    crowded = torch.full((5, 5), 0.01, dtype=torch.float64) + jitter
    crowded[0, 1], crowded[0, 2], crowded[1, 1], crowded[1, 3] = 0.5, 0.45, 0.55, 0.4
    crowded[2, 2], crowded[3, 4] = 0.9, 0.97
    # Terminan dos y la abierta gana después; en el segundo paso va delante de la que termina, o no.
    behind = long.clone()
    behind[0, 4], behind[0, 1], behind[1, 4], behind[1, 2] = 0.34, 0.6, 0.505, 0.475
    ahead = behind.clone()
    ahead[1, 4], ahead[1, 2] = 0.475, 0.505
    # Terminó una, y aun así caben dos extensiones: gana la que viene de la segunda.
    narrow = torch.full((5, 5), 0.01, dtype=torch.float64) + jitter
    narrow[0, 1], narrow[0, 4], narrow[1, 2], narrow[1, 3] = 0.75, 0.2, 0.5, 0.45
    narrow[2], narrow[3, 4] = 0.2, 0.95
    # En cada paso termina una muy poco probable, y la buena llega al fin en el último.
    crumbs = torch.full((7, 7), 0.01, dtype=torch.float64)
    crumbs += 0.001 * torch.rand(7, 7, generator=rng, dtype=torch.float64)
    crumbs[:, 6] = 0.06
    crumbs[range(6), range(1, 7)] = 0.9
    for table, beam_size, alpha, limit in (
        (long, 2, 1.0, 6),
        (long, 2, 0.0, 6),
        (long, 2, 1.0, 3),
        (second, 2, 0.0, 4),
        (endless, 2, 0.6, 3),
        (third, 2, 1.0, 4),
        (crowded, 2, 0.0, 4),
        (behind, 2, 1.0, 5),
        (ahead, 2, 1.0, 5),
        (narrow, 2, 0.0, 4),
        (crumbs, 2, 0.6, 6),
    ):
        log_p = (table / table.sum(-1, keepdim=True)).log()
        cases.append((log_p, 0, len(table) - 1, beam_size, alpha, limit))
    return cases


BEAM_SEARCH = Exercise(
    name="translator.beam_search",
    points=3,
    partial=(
        Part("la hipótesis elegida, donde gana con claridad", 1, cases=_clear_choice, item=0),
    ),
    reference=_search_with(),
    cases=_search_cases,
    misconceptions=(
        Misconception(
            "greedy",
            _search_with(prune=lambda extended, size, finished, end: _likeliest(extended, 1)),
            "es la decodificación voraz: en cada paso queda una sola hipótesis, y deben quedar "
            "beam_size",
        ),
        Misconception(
            "stops_at_the_first",
            _search_with(stop=_some_finished),
            "paras en cuanto termina una: otra hipótesis, abierta todavía, puede acabar con mejor "
            "puntuación",
        ),
        Misconception(
            "stops_with_enough",
            _search_with(stop=_enough_finished),
            "paras en cuanto han terminado beam_size: una hipótesis que sigue abierta puede acabar "
            "con mejor puntuación que todas ellas",
        ),
        Misconception(
            "stops_when_ahead",
            _search_with(stop=_finished_ahead),
            "paras cuando la mejor terminada supera a las abiertas con la longitud que llevan; al "
            "alargarse, su penalización divide por más, y una puede adelantarla todavía",
        ),
        Misconception(
            "stops_when_more_likely",
            _search_with(stop=_finished_more_likely),
            "paras cuando ninguna abierta tiene ya más log P que la mejor terminada; gana la de "
            "mejor puntuación, y una más larga puede tenerla con menos log P",
        ),
        Misconception(
            "shrinks_for_good",
            _search_with(prune=_shrinking),
            "le quitas al haz un lugar por cada hipótesis que termina: de las que siguen abiertas "
            "se eligen otra vez beam_size extensiones en cada paso",
        ),
        Misconception(
            "no_length_penalty",
            _search_with(penalty=lambda n, a: 1.0),
            "comparas log P sin dividirlo por la penalización: α no interviene",
        ),
        Misconception(
            "ranks_by_log_p",
            _search_with(rank=lambda total, penalty: total),
            "eliges por log P: gana la más probable, no la de mejor puntuación",
        ),
        Misconception(
            "continues_past_the_end",
            _search_with(stays=lambda tokens, end: True),
            "las hipótesis que terminaron siguen en el haz, y se alargan más allá del fin",
        ),
        Misconception(
            "cut_ones_compete",
            _search_with(compete=operator.add),
            "una hipótesis que el límite cortó compite con las terminadas: solo cuenta si no "
            "terminó ninguna",
        ),
        Misconception(
            "counts_the_start",
            _search_with(length=lambda tokens: len(tokens) + 1),
            "la longitud cuenta un token de más: el de comienzo no lo escribe el modelo",
        ),
        Misconception(
            "does_not_count_the_end",
            _search_with(length=lambda tokens: len(tokens) - 1),
            "la longitud cuenta un token de menos: el de fin también se escribe",
        ),
        Misconception(
            "power_of_the_length",
            _search_with(penalty=lambda n, a: n**a),
            "tu penalización es n^α; aquí es (5 + n)^α / 6^α",
        ),
        Misconception(
            "refills",
            _search_with(prune=_refilling),
            "cuando una hipótesis termina, otra ocupa su lugar (algunas bibliotecas lo hacen); "
            "aquí se eligen primero las beam_size mejores y después salen las que terminaron, así "
            "que el haz se encoge",
        ),
        Misconception(
            "with_the_start",
            _search_with(text=lambda tokens, start, end: [start, *tokens]),
            "la lista lleva también start, que no lo escribió el modelo",
        ),
        Misconception(
            "without_the_end",
            _search_with(text=lambda tokens, start, end: [y for y in tokens if y != end]),
            "a la lista le falta el token de fin, que también se escribió",
        ),
        Misconception(
            "returns_log_p",
            _search_with(score=lambda total, penalty: total),
            "devuelves log P: el segundo elemento es la puntuación, log P / lp(n)",
        ),
        Misconception(
            "never_prunes",
            _search_with(prune=_best_from_each),
            "te quedas con beam_size extensiones de cada hipótesis: el haz crece en cada paso; "
            "deben ser beam_size entre todas",
        ),
    ),
)


# 7 · Top-p


def _nucleus_cases(rng):
    def draw(rows, vocab, p, spread):
        logits = spread * torch.randn(rows, vocab, generator=rng, dtype=torch.float64)
        return torch.softmax(logits, -1), p

    shuffled = torch.tensor([0.10, 0.40, 0.04, 0.25, 0.06, 0.15], dtype=torch.float64)
    sharp = torch.tensor([0.02, 0.85, 0.01, 0.03, 0.05, 0.04], dtype=torch.float64)
    # Binarias exactas y sin empates: la suma de dos llega a p justo, y con eso basta.
    exact = torch.tensor([0.09375, 0.5, 0.25, 0.15625], dtype=torch.float64)
    return [
        (shuffled[torch.randperm(6, generator=rng)][None], 0.72),
        draw(3, 12, 0.9, 1.0),
        draw(2, 8, 0.5, 0.3),
        draw(4, 10, 0.35, 3.0),
        (exact[torch.randperm(4, generator=rng)][None], 0.75),
        (torch.stack([row[torch.randperm(6, generator=rng)] for row in (shuffled, sharp)]), 0.7),
    ]


def _back(kept, order):
    """Devuelve cada probabilidad al lugar de su token."""
    return torch.zeros_like(kept).scatter(-1, order, kept)


def _shared_out(kept, p):
    return kept / kept.sum(-1, keepdim=True)


@combinable
def _nucleus_with(
    *,
    row=lambda probabilities: probabilities,
    descending=True,
    keep=lambda ordered, gathered, p: gathered - ordered < p,
    back=_back,
    share=_shared_out,
):
    """Qué es una distribución, en qué orden se reúne, qué queda, cómo vuelve y cómo se reparte."""

    def implementation(probabilities, p):
        ordered, order = row(probabilities).sort(dim=-1, descending=descending)
        kept = ordered * keep(ordered, ordered.cumsum(-1), p)
        return share(back(kept, order).view_as(probabilities), p)

    return implementation


def _first_fraction(ordered, gathered, p):
    vocab = ordered.shape[-1]
    return torch.arange(vocab) < math.ceil(p * vocab)


def _softmax_of_the_kept(kept, p):
    return torch.softmax(kept.masked_fill(kept == 0, -math.inf), -1)


NUCLEUS = Exercise(
    name="translator.top_p",
    points=2,
    reference=_nucleus_with(),
    cases=_nucleus_cases,
    misconceptions=(
        Misconception(
            "drops_the_crossing",
            _nucleus_with(keep=lambda ordered, gathered, p: gathered <= p),
            "dejas fuera el token que cruza el umbral: lo que queda no llega a p, y si el primero "
            "ya lo pasa no queda nada",
        ),
        Misconception(
            "stops_before_reaching_p",
            _nucleus_with(keep=lambda ordered, gathered, p: gathered < p),
            "solo entran los que, sumados, todavía no llegan a p: falta el token que cruza el "
            "umbral, y si el primero ya lo cruza no queda ninguno",
        ),
        Misconception(
            "goes_on_when_exact",
            _nucleus_with(keep=lambda ordered, gathered, p: gathered - ordered <= p),
            "cuando los de delante reúnen p exactamente, ya basta: el siguiente no entra",
        ),
        Misconception(
            "gathered_by_order",
            _nucleus_with(back=lambda kept, order: kept.gather(-1, order)),
            "el camino de vuelta no es order: dice qué token quedó en cada lugar, y hace falta lo "
            "contrario, en qué lugar quedó cada token",
        ),
        Misconception(
            "divides_by_p",
            _nucleus_with(share=lambda kept, p: kept / p),
            "divides por p, y el conjunto no suele reunir justo p: divide por su suma",
        ),
        Misconception(
            "softmax_again",
            _nucleus_with(share=_softmax_of_the_kept),
            "aplicas un softmax a las probabilidades, y cambian sus proporciones: basta con "
            "dividirlas por su suma",
        ),
        Misconception(
            "not_renormalised",
            _nucleus_with(share=lambda kept, p: kept),
            "las probabilidades que quedan ya no suman 1: hay que volver a dividirlas por su suma",
        ),
        Misconception(
            "stays_sorted",
            _nucleus_with(back=lambda kept, order: kept),
            "devuelves las probabilidades ordenadas: cada una debe volver al lugar de su token",
        ),
        Misconception(
            "ascending",
            _nucleus_with(descending=False),
            "ordenas de menor a mayor: te quedas con la cola, que es lo que se quería quitar",
        ),
        Misconception(
            "fraction_of_the_vocabulary",
            _nucleus_with(keep=_first_fraction),
            "tomas una fracción p de los tokens; p es una fracción de la probabilidad",
        ),
        Misconception(
            "threshold_on_each",
            _nucleus_with(keep=lambda ordered, gathered, p: ordered >= 1 - p),
            "comparas la probabilidad de cada token con un umbral; la que se compara con p es la "
            "reunida",
        ),
        Misconception(
            "whole_batch",
            _nucleus_with(row=lambda probabilities: probabilities.flatten() / len(probabilities)),
            "ordenas todo el lote junto: cada fila es una distribución, con su propio conjunto",
        ),
        Misconception(
            "one_too_many",
            _nucleus_with(keep=lambda ordered, gathered, p: gathered - ordered - ordered < p),
            "el conjunto tiene tokens de más: entra el que cruza el umbral, y ninguno después",
        ),
    ),
)


# 8 · Encuentra el error


def _reorder_cases(rng):
    def draw(beam, length, d_k, parents):
        return (
            torch.randint(3, 50, (beam, length), generator=rng),
            torch.randn(beam, length, d_k, generator=rng),
            torch.tensor(parents),
            torch.randint(3, 50, (beam,), generator=rng),
        )

    return [draw(3, 4, 2, [2, 0, 1]), draw(3, 3, 4, [1, 1, 0]), draw(4, 2, 3, [3, 0, 0, 1])]


def _by_parent(x, parents):
    return x[parents]


def _as_they_are(x, parents):
    return x


def _to_parent(x, parents):
    moved = x.clone()
    moved[parents] = x
    return moved


@combinable
def _reorder_with(*, text=_by_parent, memory=_by_parent, new=_as_they_are):
    """Qué se reordena con los padres: el texto y la memoria, y no los tokens nuevos."""

    def implementation(written, cache, parents, tokens):
        last = new(tokens, parents)[:, None]
        return torch.cat((text(written, parents), last), 1), memory(cache, parents)

    return implementation


REORDER = Exercise(
    name="translator.reorder_bug",
    points=1,
    reference=_reorder_with(),
    cases=_reorder_cases,
    misconceptions=(
        Misconception(
            "cache_stays",
            _reorder_with(memory=_as_they_are),
            "falta mover algo que también es de cada hipótesis: el modelo seguiría escribiendo con "
            "la memoria de otra",
        ),
        Misconception(
            "text_stays",
            _reorder_with(text=_as_they_are),
            "el texto se queda en su sitio: lo ya escrito también es de cada hipótesis",
        ),
        Misconception(
            "nothing_moves",
            _reorder_with(text=_as_they_are, memory=_as_they_are),
            "ni el texto ni la memoria se mueven: parents dice de qué lugar viene cada hipótesis "
            "nueva",
        ),
        Misconception(
            "the_other_way",
            _reorder_with(text=_to_parent, memory=_to_parent),
            "llevas cada fila al lugar de su padre, y es al revés: cada hipótesis nueva toma la "
            "fila de su padre",
        ),
        Misconception(
            "tokens_too",
            _reorder_with(new=_by_parent),
            "reordenas los tokens nuevos, que ya vienen en el orden de las hipótesis nuevas",
        ),
        Misconception(
            "cache_the_other_way",
            _reorder_with(memory=_to_parent),
            "la memoria se mueve en el sentido contrario: cada hipótesis nueva toma la de su padre",
        ),
    ),
)


EXERCISES = (
    TEACHER_FORCING,
    LABEL_SMOOTHING,
    WARMUP,
    SCORES,
    BEAM_STEP,
    BEAM_SEARCH,
    NUCLEUS,
    REORDER,
)
