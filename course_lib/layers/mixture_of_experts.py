"""La mezcla de expertos: muchas redes, y un enrutador que elige unas pocas para cada token."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require_sizes, require_width
from course_lib.layers.swiglu import Dense, SwiGLU


@dataclass(frozen=True, eq=False, repr=False)
class Routing:
    """Lo que el enrutador decidió para n tokens.

    Argumentos:
        probabilities: la de cada experto, antes de elegir, `[n, num_experts]`.
        chosen: los expertos elegidos, del más probable al menos, `[n, top_k]`.
        gates: cuánto cuenta cada uno; suman 1, `[n, top_k]`.

    Fuente: Shazeer et al. (2017), §2.1; ecuación `eq-mixture-of-experts` del capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import MixtureOfExperts
        >>> mixture = MixtureOfExperts(d_model=8, d_ff=16, num_experts=4, top_k=2)
        >>> routing = mixture.route(torch.rand(5, 8))  # cinco tokens
        >>> routing.probabilities.shape, routing.chosen.shape
        (torch.Size([5, 4]), torch.Size([5, 2]))
        >>> routing.gates.sum(-1).detach().round(decimals=3)
        tensor([1., 1., 1., 1., 1.])
    """

    probabilities: Float[Tensor, "n num_experts"]
    chosen: Int[Tensor, "n top_k"]
    gates: Float[Tensor, "n top_k"]


class MixtureOfExperts(nn.Module):
    """Manda cada token a `top_k` expertos y suma lo que responden, cada uno con su compuerta.

        g = softmax(las top_k mayores de x W_router)
        y = Σ_{e ∈ elegidos} g_e · SwiGLU_e(x)

    Los parámetros crecen con `num_experts`; las operaciones por token, con `top_k`. PaLM no la usa:
    está aquí como contraste. No hay tope de tokens por experto, así que ninguno se descarta.

    Argumentos:
        d_model: ancho de la entrada y de la salida.
        d_ff: ancho de la capa oculta de cada experto.
        num_experts: cuántos expertos.
        top_k: cuántos trabajan para cada token.

    Errores:
        ValueError: si un tamaño no es positivo o top_k pasa de num_experts.

    Fuente: Shazeer et al. (2017), §2.1, sin ruido; ecuación `eq-mixture-of-experts` del
    capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import MixtureOfExperts
        >>> mixture = MixtureOfExperts(d_model=8, d_ff=16, num_experts=4, top_k=1)
        >>> y, balance = mixture(torch.rand(1, 5, 8))
        >>> y.shape
        torch.Size([1, 5, 8])
        >>> mixture.num_parameters(), mixture.num_parameters(active=True)  # hay, y trabajan
        (1568, 416)
    """

    def __init__(self, d_model: int, d_ff: int, num_experts: int, *, top_k: int = 2) -> None:
        super().__init__()
        require_sizes(d_model=d_model, d_ff=d_ff, num_experts=num_experts, top_k=top_k)
        if top_k > num_experts:
            raise ValueError(
                f"top_k: se esperaba a lo sumo num_experts = {num_experts} y llegó {top_k}. Con "
                "los dos iguales, todos los expertos trabajan para todos los tokens."
            )
        self.top_k = top_k
        self.router = Dense(d_model, num_experts)
        self.experts = nn.ModuleList(SwiGLU(d_model, d_ff) for _ in range(num_experts))

    def forward(
        self, x: Float[Tensor, "*batch d_model"], mask: Bool[Tensor, "*batch"] | None = None
    ) -> tuple[Float[Tensor, "*batch d_model"], Float[Tensor, ""]]:
        """Transforma cada token por su cuenta.

        Argumentos:
            x: los vectores, `[..., d_model]`.
            mask: True = token real. El relleno no va a ningún experto ni cuenta en la pérdida.

        Devuelve:
            El par (y, con la forma de x y ceros en el relleno; la pérdida de reparto).
        """
        require_width("x", x, self.router.in_features, "d_model")
        if mask is None:
            mask = x.new_ones(x.shape[:-1], dtype=torch.bool)
        _require_mask(mask, x)
        rows = x[mask]
        routing = self.route(rows)
        y = torch.zeros_like(x).masked_scatter(mask[..., None], self.mix(rows, routing))
        return y, load_balancing_loss(routing)

    def route(self, rows: Float[Tensor, "n d_model"]) -> Routing:
        """Puntúa los expertos para cada fila y elige los mejores.

        El softmax de las elegidas es el de todas, repartido de nuevo entre ellas. Se calcula en
        float32 al menos: en media precisión, las compuertas serían demasiado gruesas.
        """
        scores = self.router(rows)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        best, chosen = scores.topk(self.top_k, dim=-1)
        return Routing(scores.softmax(-1), chosen, best.softmax(-1))

    def mix(self, rows: Float[Tensor, "n d_model"], routing: Routing) -> Tensor:
        """Da Σ g_e · SwiGLU_e(x): con las visitas por orden, cada experto ve las suyas juntas."""
        visits = routing.chosen.flatten()
        order = visits.argsort(stable=True)
        tokens = order // self.top_k
        sizes = visits.bincount(minlength=len(self.experts)).tolist()
        parts = rows[tokens].split(sizes)
        answers = torch.cat([expert(x) for expert, x in zip(self.experts, parts, strict=True)])
        weighted = answers * routing.gates.flatten()[order, None].to(answers.dtype)
        return torch.zeros_like(rows).index_add(0, tokens, weighted.to(rows.dtype))

    def num_parameters(self, *, active: bool = False) -> int:
        """Cuántos parámetros hay; con active=True, cuántos trabajan para un mismo token."""
        each = sum(p.numel() for p in self.experts[0].parameters())
        count = self.top_k if active else len(self.experts)
        return self.router.weight.numel() + count * each


def load_balancing_loss(routing: Routing) -> Float[Tensor, ""]:
    """Dice cuán desparejo es el reparto: 1 si todos los expertos reciben lo mismo, más si no.

        L = E · Σ_e f_e P_e

    f_e es la parte de las visitas que fue al experto e (no tiene gradiente) y P_e, la media de su
    probabilidad (sí lo tiene). Se suma, con un peso pequeño, a la pérdida del modelo: sin ella,
    quien más recibe más aprende, y el enrutador acaba por mandarle todo.

    Argumentos:
        routing: el de `MixtureOfExperts.route`. Sin ningún token, la pérdida es 0.

    Fuente: Fedus et al. (2022), §2.2, ecuación 4, con f sobre las top_k visitas; Shazeer et
    al. (2017), §4, equilibra lo mismo con el coeficiente de variación; ecuación
    `eq-load-balancing` del capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Routing, load_balancing_loss
        >>> fair, gates = torch.full((4, 2), 0.5), torch.ones(4, 1)  # cuatro tokens, dos expertos
        >>> load_balancing_loss(Routing(fair, torch.tensor([[0], [1], [0], [1]]), gates))
        tensor(1.)
        >>> to_first = torch.tensor([[1.0, 0.0]]).expand(4, 2)
        >>> load_balancing_loss(Routing(to_first, torch.zeros(4, 1, dtype=torch.long), gates))
        tensor(2.)
    """
    P = routing.probabilities
    if not len(P):
        return P.sum()
    num_experts = P.shape[-1]
    f = routing.chosen.flatten().bincount(minlength=num_experts) / routing.chosen.numel()
    return num_experts * (f.to(P.dtype) * P.mean(0)).sum()


def _require_mask(mask: Tensor, x: Tensor) -> None:
    if mask.dtype != torch.bool or mask.shape != x.shape[:-1]:
        raise ValueError(
            f"mask: se esperaba booleana, True = token real, de forma {tuple(x.shape[:-1])}, y "
            f"llegó de tipo {mask.dtype} y forma {tuple(mask.shape)}."
        )
