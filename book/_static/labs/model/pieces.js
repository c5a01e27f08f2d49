import { Attention, encoderBlock, feedForward, layerNorm, linear, plus, residual, rmsNorm, rows } from "./layers.js";

// Las piezas de los modelos del curso, leídas por su nombre: las de course_lib/layers, con las opciones de su config.json.
export class Pieces {
  constructor(config, tensors) {
    [this.config, this.tensors] = [config, tensors];
  }

  norm(name) {
    const scale = this.tensors.get(`${name}.weight`), eps = this.config.eps ?? undefined;
    return this.config.norm === "rms" ? rmsNorm(scale, eps) : layerNorm(scale, this.tensors.get(`${name}.bias`), eps);
  }

  // La de la salida de una pila, si la colocación la pide.
  finalNorm(name) {
    const { final_norm: wanted, placement } = this.config;
    return (wanted ?? placement !== "post") ? this.norm(name) : (x) => x;
  }

  linear(name) {
    return linear(this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`));
  }

  attention(name) {
    const [W, b] = ["weight", "bias"].map((kind) => this.tensors.get(`${name}.W_qkv.${kind}`)), d = this.config.d_model;
    const [query, key, value] = [0, d, 2 * d].map((from) => linear(rows(W, from, from + d), b && rows(b, from, from + d)));
    return new Attention(query, key, value, this.linear(`${name}.W_h`), this.config.num_heads);
  }

  around(name) {
    const { placement } = this.config;
    return residual(placement, this.norm(`${name}.norm`), placement === "sandwich" && this.norm(`${name}.outer_norm`));
  }

  // Lo que lee la primera subcapa de un bloque: si no se normaliza después, la entrada normalizada.
  read(name) {
    return this.config.placement === "post" ? (x) => x : this.norm(`${name}.norm`);
  }

  network(name) {
    return feedForward(this.linear(`${name}.W_1`), this.linear(`${name}.W_2`), this.config.activation ?? "relu");
  }

  encoderBlock(name) {
    return {
      read: this.read(`${name}.residual_attention`),
      attention: this.attention(`${name}.attention`), aroundAttention: this.around(`${name}.residual_attention`),
      network: this.network(`${name}.feed_forward`), aroundNetwork: this.around(`${name}.residual_feed_forward`),
    };
  }

  // Los bloques de un codificador: un vector por posición, y los pesos, [bloque][cabeza][t_q][t_k].
  encoder(name) {
    const blocks = [...Array(this.config.num_layers).keys()].map((i) => this.encoderBlock(`${name}.blocks.${i}`));
    const norm = this.finalNorm(`${name}.norm`);
    return (X) => {
      const weights = [];
      for (const block of blocks) {
        const found = encoderBlock(block, X);
        X = found.X;
        weights.push(found.weights);
      }
      return { encoded: X.map(norm), weights };
    };
  }

  // De un token y su lugar, su vector: √d por su fila, más su posición.
  embedding(name, positions = this.config.positions, rowsName = `${name}.table.weight`) {
    const { d_model: d } = this.config;
    const table = this.tensors.get(rowsName), learned = this.tensors.get(`${name}.position_table`);
    const place = { sinusoidal: (at) => sinusoid(at, d), learned: (at) => rows(learned, at, at + 1).data }[positions];
    return (id, at) => {
      const x = rows(table, id, id + 1).data.map((value) => value * Math.sqrt(d));
      return place ? plus(x, place(at)) : x;
    };
  }
}

export function sinusoid(at, d) {
  return Float32Array.from({ length: d }, (_, j) => {
    const angle = at / 10000 ** ((j - (j % 2)) / d);
    return j % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}
