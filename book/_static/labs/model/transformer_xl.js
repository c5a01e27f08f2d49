import { linear, plus, softmax } from "./layers.js";
import { Pieces, sinusoid } from "./pieces.js";

// El Transformer-XL de course_lib/models/transformer_xl.py, sin grupos de palabras: lee por segmentos, y recuerda.
export class TransformerXL {
  constructor(config, tensors) {
    this.config = config;
    const pieces = new Pieces(config, tensors);
    this.embed = pieces.embedding("embedding.tables.0", null, "embedding.tables.0.weight");
    this.blocks = [...Array(config.num_layers).keys()].map((i) => this.#block(pieces, tensors, i));
    this.norm = pieces.finalNorm("norm");
    this.logits = linear(tensors.get("embedding.tables.0.weight"), tensors.get("output.biases.0"));
  }

  // La memoria del comienzo, vacía, que recordará `limit` posiciones.
  start(limit = this.config.memory_length) {
    return { limit, states: this.blocks.map(() => []) };
  }

  // Lee un segmento: los logits del token siguiente a cada uno, la memoria nueva, y los pesos de cada posición sobre la
  // memoria y el segmento, [posición][bloque][cabeza].
  read(ids, memory = this.start()) {
    let X = ids.map((id) => this.embed(id));
    const weights = ids.map(() => []);
    const states = this.blocks.map((block, i) => {
      const past = memory.states[i], seen = [...past, ...X];
      X = this.#advance(block, X, past, memory.limit, weights);
      return seen.slice(Math.max(0, seen.length - memory.limit));
    });
    return { logits: X.map((x) => this.logits(this.norm(x))), memory: { ...memory, states }, weights };
  }

  // Un texto entero, en segmentos de `length`: los logits y los pesos de cada posición, y la primera que ve.
  readAll(ids, length, limit) {
    const logits = [], weights = [], first = [];
    let memory = this.start(limit);
    for (let from = 0; from < ids.length; from += length) {
      const part = ids.slice(from, from + length), past = memory.states[0].length, found = this.read(part, memory);
      memory = found.memory;
      logits.push(...found.logits);
      weights.push(...found.weights);
      first.push(...part.map(() => from - past));
    }
    return { logits, weights, first };
  }

  #advance(block, X, past, limit, weights) {
    const all = [...past, ...X].map(block.read), m = past.length;
    const keys = all.map(block.attention.key), values = all.map(block.attention.value);
    const { same_length: same } = this.config;
    const H = X.map((x, i) => block.aroundAttention(x, (z) => {
      const from = same && all.length > limit ? Math.max(0, m + i + 1 - limit) : 0;
      const { mixed, A } = this.#mix(block, block.attention.query(z), keys.slice(from, m + i + 1), values.slice(from, m + i + 1));
      weights[i].push(A);
      return block.attention.output(mixed);
    }));
    return H.map((x) => block.aroundNetwork(x, block.network));
  }

  // ((q + u) kᵀ + (q + v) rᵀ) / √d_k de cada cabeza; la última clave está a distancia 0.
  #mix({ u, v, distance }, q, keys, values) {
    const { num_heads: heads } = this.config, width = q.length / heads, mixed = new Float32Array(q.length);
    const [contents, places] = [u, v].map((own) => (own ? plus(q, own.data) : q));
    const A = Array.from({ length: heads }, (_, head) => {
      const from = head * width;
      const scores = new Float32Array(keys.map((k, j) => {
        const r = distance(keys.length - 1 - j);
        let sum = 0;
        for (let c = from; c < from + width; c++) sum += contents[c] * k[c] + places[c] * r[c];
        return sum / Math.sqrt(width);
      }));
      const shares = softmax(scores);
      values.forEach((value, j) => { for (let c = from; c < from + width; c++) mixed[c] += shares[j] * value[c]; });
      return shares;
    });
    return { mixed, A };
  }

  #block(pieces, tensors, i) {
    const { d_model: d, clamp_length: farthest, tie_biases: tied } = this.config, name = `blocks.${i}`, known = [];
    const project = linear(tensors.get(`${name}.attention.W_r.weight`));
    const [u, v] = ["u", "v"].map((each) => tensors.get(`blocks.${tied ? 0 : i}.attention.${each}`));
    const distance = (far) => (known[far] ??= project(sinusoid(Math.min(far, farthest ?? far), d)));
    return { ...pieces.encoderBlock(name), u, v, distance };
  }
}
