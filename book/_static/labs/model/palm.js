import { layerNorm, linear, mix, plus, rmsNorm, rows, swiGLU } from "./layers.js";

// El PaLM de course_lib/models/palm.py, con sus pesos y su config.json; las posiciones, giradas o ninguna.
export class PaLM {
  constructor(config, tensors) {
    [this.config, this.tensors] = [config, tensors];
    this.width = config.d_head ?? config.d_model / config.num_heads;
    this.table = tensors.get("embedding.table.weight");
    this.blocks = [...Array(config.num_layers).keys()].map((i) => this.#block(`blocks.${i}`));
    this.norm = this.#norm("norm");
    this.output = linear(config.tied ? this.table : tensors.get("output.weight"));
    this.scale = config.logits_scale ?? (config.tied ? 1 / Math.sqrt(config.d_model) : 1);
  }

  // Lee la indicación menos su último token, que es el que pide el siguiente: da los dos.
  start(ids) {
    let state = this.blocks.map(() => ({ keys: [], values: [] }));
    for (const id of ids.slice(0, -1)) ({ state } = this.step(id, state));
    return { last: ids.at(-1), state };
  }

  // Lee un token más: los logits del siguiente y la caché, nueva, con una clave y un valor más por bloque.
  step(id, state) {
    const at = state[0].keys.length;
    let x = rows(this.table, id, id + 1).data;
    const next = this.blocks.map((block, i) => {
      const u = block.norm(x), keys = [...state[i].keys, this.#turn(block.key(u), at)], values = [...state[i].values, block.value(u)];
      const { mixed } = mix(this.#turn(block.query(u), at), keys, values, this.config.num_heads);
      const h = block.join(mixed);
      if (this.config.parallel) x = plus(plus(x, h), block.network(u));
      else x = plus(plus(x, h), block.network(block.innerNorm(plus(x, h))));
      return { keys, values };
    });
    return { logits: this.output(this.norm(x)).map((z) => z * this.scale), state: next };
  }

  // Gira cada par de columnas de cada cabeza: «half», la i con la i + d/2; «interleaved», la 2i con la 2i + 1.
  #turn(x, at) {
    const { positions, base, layout } = this.config, d = this.width, turned = new Float32Array(x);
    if (positions !== "rotary") return turned;
    for (let from = 0; from < x.length; from += d) {
      for (let i = 0; i < d / 2; i++) {
        const [a, b] = layout === "half" ? [from + i, from + i + d / 2] : [from + 2 * i, from + 2 * i + 1];
        const angle = at / base ** ((2 * i) / d), cosine = Math.cos(angle), sine = Math.sin(angle);
        [turned[a], turned[b]] = [x[a] * cosine - x[b] * sine, x[b] * cosine + x[a] * sine];
      }
    }
    return turned;
  }

  #norm(name) {
    const { norm, eps } = this.config, scale = this.tensors.get(`${name}.weight`), own = eps ?? undefined;
    return norm === "rms" ? rmsNorm(scale, own) : layerNorm(scale, undefined, own);
  }

  #block(name) {
    const [W, join, gateUp, down] = ["attention.W_qkv", "attention.W_h", "feed_forward.W_gate_up", "feed_forward.W_down"]
      .map((part) => this.tensors.get(`${name}.${part}.weight`));
    const { num_heads: heads, num_kv_heads: pairs, parallel } = this.config;
    const [query, key, value] = [[0, heads], [heads, heads + pairs], [heads + pairs, heads + 2 * pairs]]
      .map(([from, to]) => linear(rows(W, from * this.width, to * this.width)));
    return {
      query, key, value, join: linear(join), network: swiGLU(gateUp, down),
      norm: this.#norm(`${name}.norm`), innerNorm: parallel ? undefined : this.#norm(`${name}.inner_norm`),
    };
  }
}

// La caché de los `length` primeros tokens.
export function cut(state, length) {
  return state.map(({ keys, values }) => ({ keys: keys.slice(0, length), values: values.slice(0, length) }));
}
