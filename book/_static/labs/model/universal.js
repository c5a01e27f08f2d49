import { encoderBlock, plus } from "./layers.js";
import { Pieces, sinusoid } from "./pieces.js";

// El Universal Transformer con parada que etiqueta posiciones, de book/_models/searching.py: un solo bloque, que se repite.
export class Universal {
  constructor(config, tensors) {
    this.config = config;
    const pieces = new Pieces(config, tensors);
    this.embed = pieces.embedding("embedding", null);
    this.block = pieces.encoderBlock("encoder.block");
    this.halting = pieces.linear("encoder.computation.halting");
    this.norm = pieces.finalNorm("encoder.norm");
    this.output = pieces.linear("output");
  }

  // Lo que pasa en cada posición, paso a paso. `trace[n]` son las posiciones en el paso n: si seguía, su p, lo acumulado
  // con ella, los pesos de cada cabeza, y lo que contestaría si el paso fuera su último.
  read(ids) {
    const { d_model: d, max_steps: most, epsilon } = this.config;
    let places = ids.map((id) => {
      const state = this.embed(id);
      return { state, mixed: state.map(() => 0), total: 0, active: true, steps: 0, remainder: 0 };
    });
    const trace = [];
    for (let n = 1; n <= most && places.some(({ active }) => active); n++) {
      const step = sinusoid(n, d), U = places.map(({ state }, at) => plus(plus(state, sinusoid(at + 1, d)), step));
      const { X: S, weights } = encoderBlock(this.block, U);
      const rows = places.map((place, at) => this.#advance(place, U[at], S[at], n === most, epsilon));
      trace.push(rows.map(({ p, stopped }, at) => ({
        active: places[at].active, p, total: places[at].total + p, weights: weights.map((head) => head[at]), logits: this.#answer(stopped),
      })));
      places = rows.map(({ next }) => next);
    }
    return { trace, places, logits: places.map(({ mixed }) => this.#answer(mixed)) };
  }

  #answer(mixed) {
    return this.output(this.norm(mixed));
  }

  // Un paso de una posición: la que se detuvo no cambia.
  #advance(place, u, s, last, epsilon) {
    const p = 1 / (1 + Math.exp(-this.halting(u)[0])), { total, mixed } = place;
    const stopped = mixed.map((value, i) => value + (1 - total) * s[i]);
    if (!place.active) return { p, stopped, next: place };
    const halts = last || total + p >= 1 - epsilon, weight = halts ? 1 - total : p;
    const next = {
      state: s, mixed: mixed.map((value, i) => value + weight * s[i]), total: total + p, active: !halts,
      steps: place.steps + 1, remainder: halts ? weight : 0,
    };
    return { p, stopped, next };
  }
}
