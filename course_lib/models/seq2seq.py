"""Codificador y decodificador recurrentes (GRU), con atención o sin ella."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.primitives.additive import combine_projected, luong_scores
from course_lib.primitives.attention import padding_mask, soft_argmax

ATTENTIONS = (None, "additive", "dot", "general")

Inputs = Float[Tensor, "batch t_target d_model"]
Memory = Float[Tensor, "batch t_source d_model"]
State = Float[Tensor, "batch d_model"]
Visible = Bool[Tensor, "batch 1 t_source"]


@dataclass(frozen=True)
class Seq2SeqConfig:
    """Tamaños y variante de un `Seq2Seq`.

    Argumentos:
        source_vocab, target_vocab: tamaños de los vocabularios, con los símbolos especiales.
        d_model: ancho de incrustaciones y estados; par, porque el codificador lo reparte entre
            sus dos sentidos.
        attention: None (solo pasa el estado final), "additive" (Bahdanau), "dot" o "general"
            (Luong).
        pad_id, start_id, end_id: identificadores de relleno, comienzo y fin, los mismos en los
            dos vocabularios.

    Errores:
        ValueError: si un valor no tiene sentido.

    Fuente: Bahdanau et al. (2015), §3; Luong et al. (2015), §3.1; capítulo `attention`.

    Ejemplo:
        >>> from course_lib.models import Seq2SeqConfig
        >>> Seq2SeqConfig(source_vocab=20, target_vocab=30, attention="additive").d_model
        64
    """

    source_vocab: int
    target_vocab: int
    d_model: int = 64
    attention: Literal["additive", "dot", "general"] | None = None
    pad_id: int = 0
    start_id: int = 1
    end_id: int = 2

    def __post_init__(self) -> None:
        if self.attention not in ATTENTIONS:
            raise ValueError(f"attention: se esperaba {ATTENTIONS} y llegó {self.attention!r}.")
        if self.d_model < 2 or self.d_model % 2:
            raise ValueError(f"d_model: se esperaba un número par positivo y llegó {self.d_model}.")
        special = (self.pad_id, self.start_id, self.end_id)
        if len(set(special)) < 3 or not all(0 <= i < self.target_vocab for i in special):
            raise ValueError(
                "pad_id, start_id y end_id deben ser distintos y caber en target_vocab = "
                f"{self.target_vocab}; llegaron {special}."
            )
        if not self.pad_id < self.source_vocab:
            raise ValueError(
                f"pad_id = {self.pad_id} no cabe en source_vocab = {self.source_vocab}."
            )


class Seq2Seq(nn.Module):
    """Lee una oración con un codificador y escribe otra con un decodificador, token a token.

    Sin atención, todo lo que el decodificador sabe de la oración cabe en un vector de ancho
    d_model: el cuello de botella. Con atención, en cada paso mira todos los estados del
    codificador.

    Argumentos:
        config: los tamaños y la variante.

    Fuente: Sutskever et al. (2014); Bahdanau et al. (2015), §3; Luong et al. (2015), §3;
    capítulo `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import Seq2Seq, Seq2SeqConfig
        >>> model = Seq2Seq(Seq2SeqConfig(source_vocab=20, target_vocab=30, attention="dot"))
        >>> source, target = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])
        >>> model(source, target).shape  # qué palabra sigue a cada una del destino
        torch.Size([1, 3, 30])
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = RecurrentEncoder(config)
        self.embedding = nn.Embedding(config.target_vocab, config.d_model)
        self.decoder = _DECODERS[config.attention](config)
        self.output = nn.Linear(config.d_model, config.target_vocab)

    def forward(
        self,
        source: Int[Tensor, "batch t_source"],
        target: Int[Tensor, "batch t_target"],
    ) -> Float[Tensor, "batch t_target vocab"]:
        """Predice cada token del destino con los anteriores correctos (forzado del profesor).

        Argumentos:
            source: oración de origen, con relleno solo al final.
            target: entrada del decodificador: start_id y la oración de destino sin su último
                token. La predicción i corresponde al token i + 1.

        Devuelve:
            Los logits.

        Errores:
            ValueError: si un identificador no cabe en su vocabulario, hay relleno en medio o una
            oración está vacía.
        """
        _require_ids("target", target, self.config.target_vocab)
        memory, visible, state = self.encoder(source)
        features, _ = self.decoder(self.embedding(target), state, memory, visible)
        return self.output(features)

    @torch.no_grad()
    def greedy(
        self,
        source: Int[Tensor, "batch t_source"],
        max_length: int,
    ) -> Int[Tensor, "batch t_target"]:
        """Escribe la oración de destino con decodificación voraz: el token más probable cada vez.

        Argumentos:
            source: oración de origen, con relleno solo al final.
            max_length: cuántos tokens escribir a lo sumo, con end_id incluido.

        Devuelve:
            Los tokens, sin start_id; después de end_id solo hay relleno. Se detiene antes de
            max_length si todas las oraciones terminaron.

        Errores:
            ValueError: los de `forward`, y si max_length no es positivo.
        """
        if max_length < 1:
            raise ValueError(f"max_length: se esperaba al menos 1 y llegó {max_length}.")
        memory, visible, state = self.encoder(source)
        token = source.new_full((source.shape[0], 1), self.config.start_id)
        done = torch.zeros_like(token, dtype=torch.bool)
        tokens = []
        while len(tokens) < max_length and not done.all():
            features, state = self.decoder(self.embedding(token), state, memory, visible)
            token = self.output(features).argmax(-1).masked_fill(done, self.config.pad_id)
            done = done | (token == self.config.end_id)
            tokens.append(token)
        return torch.cat(tokens, 1)


class SourceMixture(nn.Module):
    """El contexto: la mezcla de los estados del origen, c_i = Σ_j a_ij h_j."""

    def forward(self, A: Float[Tensor, "batch t_target t_source"], memory: Memory) -> Inputs:
        """Da un contexto por paso del destino, `[batch, t_target, d_model]`."""
        return A @ memory

    def weights(self, A: Tensor, memory: Memory) -> Float[Tensor, "batch 1 t_target t_source"]:
        """Los pesos de la mezcla, como si fueran de una sola cabeza (0 en el relleno)."""
        return A.unsqueeze(1)


class RecurrentEncoder(nn.Module):
    """GRU en los dos sentidos: cada estado resume la oración alrededor de su posición.

        h_j = [h→_j ; h←_j]          s_0 = tanh(W [h→_t ; h←_1])

    El relleno no se recorre: alargarlo no cambia ningún estado. El artículo toma s_0 solo de h←_1.

    Fuente: Bahdanau et al. (2015), §3.2; capítulo `attention`.
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.pad_id = config.pad_id
        self.embedding = nn.Embedding(config.source_vocab, config.d_model)
        half = config.d_model // 2
        self.gru = nn.GRU(config.d_model, half, batch_first=True, bidirectional=True)
        self.initial = nn.Linear(config.d_model, config.d_model)

    def forward(self, source: Int[Tensor, "batch t_source"]) -> tuple[Memory, Visible, State]:
        """Devuelve los estados, la máscara del relleno y el estado inicial del decodificador."""
        _require_ids("source", source, self.embedding.num_embeddings)
        visible = padding_mask(source, self.pad_id)
        lengths = _lengths(visible.squeeze(1))
        # Sin empaquetar, el sentido hacia atrás empezaría por el relleno.
        packed = pack_padded_sequence(
            self.embedding(source), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, last = self.gru(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        return states, visible, torch.tanh(self.initial(torch.cat((last[0], last[1]), -1)))


class BottleneckDecoder(nn.Module):
    """Sin atención: del origen solo llega el estado inicial s_0.

        s_i = GRU(s_{i−1}, y_{i−1})

    Fuente: Sutskever et al. (2014), §2, allí con LSTM; capítulo `attention`.
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.gru = nn.GRU(config.d_model, config.d_model, batch_first=True)

    def forward(self, inputs: Inputs, state: State, memory: Memory, visible: Visible):
        """Devuelve (rasgos, estado); `memory` y `visible` no se usan."""
        features, last = self.gru(inputs, state.unsqueeze(0))
        return features, last.squeeze(0)


class LuongDecoder(nn.Module):
    """La atención multiplicativa corrige la salida de la GRU.

        s_i = GRU(s_{i−1}, y_{i−1})
        a_i = softmax(s_iᵀ W h_j)          (sin W en la variante «dot»)
        c_i = Σ_j a_ij h_j
        s̃_i = tanh(W_c [c_i ; s_i])

    La atención usa el estado actual y no alimenta el siguiente: por eso todos los pasos del
    entrenamiento se calculan a la vez. Se omite la realimentación de s̃ («input feeding», §3.3).

    Fuente: Luong et al. (2015), §3.1; ecuación `eq-luong` del capítulo `attention`.
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        d_model = config.d_model
        self.gru = nn.GRU(d_model, d_model, batch_first=True)
        general = config.attention == "general"
        self.W = nn.Parameter(_xavier(d_model, d_model)) if general else None
        self.W_c = nn.Linear(2 * d_model, d_model)
        self.mix = SourceMixture()

    def forward(self, inputs: Inputs, state: State, memory: Memory, visible: Visible):
        """Devuelve (rasgos, estado)."""
        states, last = self.gru(inputs, state.unsqueeze(0))
        A = _masked_weights(luong_scores(states, memory, self.W), visible)
        features = torch.tanh(self.W_c(torch.cat((self.mix(A, memory), states), -1)))
        return features, last.squeeze(0)


class AdditiveDecoder(nn.Module):
    """La atención aditiva elige qué entra a la GRU en cada paso.

        a_i = softmax(vᵀ tanh(W_q s_{i−1} + W_k h_j))
        c_i = Σ_j a_ij h_j
        s_i = GRU(s_{i−1}, [y_{i−1} ; c_i])

    La consulta es el estado anterior, así que los pasos van uno tras otro. La salida se lee de
    [s_i ; c_i] con una capa tanh, más simple que el maxout del artículo.

    Fuente: Bahdanau et al. (2015), §3.1; ecuación `eq-additive` del capítulo `attention`.
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        d_model = config.d_model
        self.cell = nn.GRUCell(2 * d_model, d_model)
        self.W_q = nn.Parameter(_xavier(d_model, d_model))
        self.W_k = nn.Parameter(_xavier(d_model, d_model))
        self.v = nn.Parameter(_xavier(d_model, 1).squeeze(1))
        self.W_c = nn.Linear(2 * d_model, d_model)
        self.mix = SourceMixture()

    def forward(self, inputs: Inputs, state: State, memory: Memory, visible: Visible):
        """Devuelve (rasgos, estado)."""
        projected = memory @ self.W_k
        features = []
        for token in inputs.unbind(1):
            scores = combine_projected((state @ self.W_q).unsqueeze(1), projected, self.v)
            A = _masked_weights(scores, visible)
            context = self.mix(A, memory).squeeze(1)
            state = self.cell(torch.cat((token, context), -1), state)
            features.append(torch.cat((context, state), -1))
        return torch.tanh(self.W_c(torch.stack(features, 1))), state


_DECODERS = {
    None: BottleneckDecoder,
    "additive": AdditiveDecoder,
    "dot": LuongDecoder,
    "general": LuongDecoder,
}


def _masked_weights(scores: Tensor, visible: Tensor) -> Tensor:
    """Softmax que no ve el relleno; cada oración tiene al menos un token, así que no hay NaN."""
    return soft_argmax(scores.masked_fill(~visible, -torch.inf))


def _xavier(rows: int, columns: int) -> Tensor:
    return nn.init.xavier_uniform_(torch.empty(rows, columns))


def _lengths(visible: Bool[Tensor, "batch t"]) -> Int[Tensor, " batch"]:
    lengths = visible.sum(-1)
    if visible.shape[1] == 0 or bool((lengths == 0).any()):
        raise ValueError(
            "Se esperaba al menos un token por oración de origen, y hay una vacía (todo relleno): "
            "quítala del lote."
        )
    positions = torch.arange(visible.shape[1], device=visible.device)
    if not torch.equal(visible, positions < lengths[:, None]):
        raise ValueError(
            "Se esperaba el relleno solo al final de cada oración de origen, y hay relleno antes "
            "de un token: revisa cómo se arma el lote."
        )
    return lengths


def _require_ids(name: str, ids: Tensor, vocab: int) -> None:
    if ids.numel() and not (int(ids.min()) >= 0 and int(ids.max()) < vocab):
        raise ValueError(
            f"{name}: se esperaban identificadores entre 0 y {vocab - 1} y llegaron entre "
            f"{int(ids.min())} y {int(ids.max())}: ¿es el vocabulario del otro idioma?"
        )
