"""PaLM: escribir con caché, Hugging Face y el curso

El rival es `CohereForCausalLM.generate` de transformers con los mismos pesos: Cohere es, con estas
opciones, el mismo modelo (bloques en paralelo, SwiGLU, un solo par de claves y valores, giros, sin
sesgos y una sola tabla). Los dos leen las mismas indicaciones, de 16 tokens, y escriben de forma
voraz la misma cantidad de tokens, en modo de inferencia; antes de medir se comparan, uno por uno.

«Por columnas» es el mismo modelo después de `fast.by_columns`, que ordena de otro modo las
matrices en la memoria, con los mismos números: conviene al escribir una sola fila. «Escritor» es
el de `fast.writer`: sigue las mismas ecuaciones sin llamar a los módulos; con una fila, también por
columnas. Los tres escriben en una memoria reservada (`fast.reserve`).

El tiempo es el de escribirlo todo, con la lectura de la indicación. Del límite de la máquina cuenta
lo que no se puede evitar: leer todos los pesos una vez por token escrito, con la rapidez a la que
esta máquina copia memoria. Con varias filas, esa lectura sirve a todas.
"""

from copy import deepcopy

import torch

from benchmarks._measure import compare, peer, rows_of
from course_lib import fast
from course_lib.decoding import greedy
from course_lib.models.palm import PaLM, PaLMConfig

PEER = "transformers, generate"
PROMPT = 16
SIZES = {  # vocabulario, d_model, cabezas, bloques
    "pequeño": (1000, 256, 4, 4),
    "125 M": (32_000, 768, 12, 12),
}
CASES = tuple((size, batch, 32) for size in SIZES for batch in (1, 8))


def run(device: str) -> list[dict]:
    rows = []
    for size, batch, new_tokens in CASES:
        traffic = new_tokens * bytes_per_token(SIZES[size])
        found = compare(
            write, size, batch, new_tokens, device=device, reference=PEER, traffic=traffic,
            memory=False,
        )  # fmt: skip
        rows += rows_of({"modelo": size, "filas": batch, "tokens": new_tokens}, found)
    return [{key: row[key] for key in row if key != "MiB"} for row in rows]


def write(size: str, batch: int, new_tokens: int, device: str) -> dict:
    """Continúa las mismas indicaciones; da los tokens escritos."""
    torch.manual_seed(0)
    theirs, ours = (model.to(device) for model in make_models(*SIZES[size]))
    prompt = torch.randint(SIZES[size][0], (batch, PROMPT), device=device)
    visible = torch.ones_like(prompt)

    @torch.inference_mode()
    def generate():
        limits = {"max_new_tokens": new_tokens, "min_new_tokens": new_tokens}
        found = theirs.generate(prompt, attention_mask=visible, do_sample=False, **limits)
        return found[:, PROMPT:]

    @torch.inference_mode()
    def course(palm):
        cache = fast.reserve(palm, batch, PROMPT + new_tokens)
        request = {"end_id": None, "max_new_tokens": new_tokens}
        return greedy(palm.step, prompt, cache, **request).token_ids

    jobs = {PEER: generate, "curso": lambda: course(ours)}
    fastest = ours
    if batch == 1:
        fastest = fast.by_columns(deepcopy(ours))
        jobs["curso, por columnas"] = lambda: course(fastest)
    writer = fast.writer(fastest, capacity=PROMPT + new_tokens)

    @torch.inference_mode()
    def written(writer):
        return greedy(writer.step, prompt, end_id=None, max_new_tokens=new_tokens).token_ids

    jobs["curso, escritor"] = lambda: written(writer)
    if device != "cpu":
        recorded = fast.graphed(ours, batch, PROMPT + new_tokens)
        jobs["curso, pasos grabados"] = lambda: written(recorded)
    return jobs


def make_models(vocab: int, d_model: int, num_heads: int, num_layers: int) -> tuple:
    """Un Cohere y un PaLM con los mismos pesos, los del comienzo de PaLM.

    Errores:
        ValueError: si transformers no está instalado: aquí el rival es la referencia.
    """
    package = peer("transformers.models.cohere")
    if package is None:
        raise ValueError("Sin transformers no hay con qué comparar.")
    config = package.CohereConfig(
        vocab_size=vocab,
        hidden_size=d_model,
        intermediate_size=4 * d_model,
        num_hidden_layers=num_layers,
        num_attention_heads=num_heads,
        num_key_value_heads=1,
        logit_scale=d_model**-0.5,
        max_position_embeddings=2048,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
    )
    shape = {"d_model": d_model, "num_heads": num_heads, "num_layers": num_layers}
    ours = PaLM(PaLMConfig(vocab, **shape, layout="interleaved", eps=1e-5)).eval()
    theirs = package.CohereForCausalLM(config).eval()
    theirs.load_state_dict(as_cohere(ours))
    return theirs, ours


def as_cohere(palm: PaLM) -> dict[str, torch.Tensor]:
    """Los pesos de un PaLM con los nombres de Cohere."""
    table = palm.embedding.table.weight
    found = {"model.embed_tokens": table, "lm_head": table, "model.norm": palm.norm.weight}
    for i, block in enumerate(palm.blocks):
        attention, network = block.attention, block.feed_forward
        d = attention.d_head
        Q, K, V = attention.W_qkv.weight.split([attention.num_heads * d, d, d])
        gate, up = network.W_gate_up.weight.chunk(2)
        matrices = {
            "input_layernorm": block.norm.weight,
            "self_attn.q_proj": Q,
            "self_attn.k_proj": K,
            "self_attn.v_proj": V,
            "self_attn.o_proj": attention.W_h.weight,
            "mlp.gate_proj": gate,
            "mlp.up_proj": up,
            "mlp.down_proj": network.W_down.weight,
        }
        found |= {f"model.layers.{i}.{name}": W for name, W in matrices.items()}
    return {f"{name}.weight": W for name, W in found.items()}


def bytes_per_token(size: tuple[int, int, int, int]) -> int:
    """Lo que ocupan todos los pesos en float32: cada token los necesita todos."""
    vocab, d_model, num_heads, num_layers = size
    with torch.device("meta"):
        palm = PaLM(PaLMConfig(vocab, d_model, num_heads, num_layers))
    return 4 * palm.num_parameters()
