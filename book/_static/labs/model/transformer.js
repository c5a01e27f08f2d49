import { Attention, encoderBlock, feedForward, layerNorm, linear, plus, residual, rmsNorm, rows } from "./layers.js";

// El Transformer de course_lib/models/transformer.py, con sus pesos y su config.json.
export class Transformer {
  constructor(config, tensors) {
    [this.config, this.tensors] = [config, tensors];
    const layers = [...Array(config.num_layers).keys()], both = "encoder_decoder";
    this.encoder = layers.map((i) => this.#encoderBlock(`${both}.encoder.blocks.${i}`));
    this.decoder = layers.map((i) => this.#decoderBlock(`${both}.decoder.blocks.${i}`));
    const normalises = config.final_norm ?? config.placement !== "post";
    [this.encoderNorm, this.decoderNorm] = ["encoder", "decoder"]
      .map((stack) => (normalises ? this.#norm(`${both}.${stack}.norm`) : (x) => x));
    const target = config.target_vocab === null ? "source_embedding" : "target_embedding";
    this.embedSource = this.#embedding("source_embedding");
    this.embedTarget = this.#embedding(target);
    this.logits = linear(tensors.get(`${target}.table.weight`));
  }

  // Lee el origen: un vector por token, y los pesos de cada bloque, [bloque][cabeza][t_q][t_k].
  encode(ids) {
    let X = ids.map(this.embedSource);
    const weights = this.encoder.map((block) => {
      const found = encoderBlock(block, X);
      X = found.X;
      return found.weights;
    });
    return { encoded: X.map(this.encoderNorm), weights };
  }

  // Todo listo para escribir: las claves y los valores del origen, que no cambian, y cachés vacías.
  start(ids) {
    const { encoded } = this.encode(ids);
    return this.decoder.map(({ cross }) => ({
      source: { keys: encoded.map(cross.key), values: encoded.map(cross.value) }, keys: [], values: [],
    }));
  }

  // Lee un token más: los logits del siguiente, los pesos cruzados, [bloque][cabeza][t_source], y el estado, nuevo.
  step(id, state) {
    let y = this.embedTarget(id, state[0].keys.length);
    const cross = [];
    const next = this.decoder.map((block, i) => {
      const { source } = state[i], z = block.read(y);
      const keys = [...state[i].keys, block.self.key(z)], values = [...state[i].values, block.self.value(z)];
      y = block.aroundSelf(y, (z) => block.self.look(z, keys, values).H);
      y = block.aroundCross(y, (z) => {
        const { H, weights } = block.cross.look(z, source.keys, source.values);
        cross.push(weights);
        return H;
      });
      y = block.aroundNetwork(y, block.network);
      return { source, keys, values };
    });
    return { logits: this.logits(this.decoderNorm(y)), cross, state: next };
  }

  #norm(name) {
    const scale = this.tensors.get(`${name}.weight`);
    return this.config.norm === "rms" ? rmsNorm(scale) : layerNorm(scale, this.tensors.get(`${name}.bias`));
  }

  #linear(name) {
    return linear(this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`));
  }

  #attention(name) {
    const [W, b] = ["weight", "bias"].map((kind) => this.tensors.get(`${name}.W_qkv.${kind}`)), d = this.config.d_model;
    const [query, key, value] = [0, d, 2 * d].map((from) => linear(rows(W, from, from + d), rows(b, from, from + d)));
    return new Attention(query, key, value, this.#linear(`${name}.W_h`), this.config.num_heads);
  }

  #around(name) {
    const { placement } = this.config;
    return residual(placement, this.#norm(`${name}.norm`), placement === "sandwich" && this.#norm(`${name}.outer_norm`));
  }

  // Lo que lee la primera subcapa de un bloque: si no se normaliza después, la entrada normalizada.
  #read(name) {
    return this.config.placement === "post" ? (x) => x : this.#norm(`${name}.norm`);
  }

  #network(name) {
    return feedForward(this.#linear(`${name}.W_1`), this.#linear(`${name}.W_2`), this.config.activation);
  }

  #encoderBlock(name) {
    return {
      read: this.#read(`${name}.residual_attention`),
      attention: this.#attention(`${name}.attention`), aroundAttention: this.#around(`${name}.residual_attention`),
      network: this.#network(`${name}.feed_forward`), aroundNetwork: this.#around(`${name}.residual_feed_forward`),
    };
  }

  #decoderBlock(name) {
    return {
      read: this.#read(`${name}.residual_self`),
      self: this.#attention(`${name}.self_attention`), aroundSelf: this.#around(`${name}.residual_self`),
      cross: this.#attention(`${name}.cross_attention`), aroundCross: this.#around(`${name}.residual_cross`),
      network: this.#network(`${name}.feed_forward`), aroundNetwork: this.#around(`${name}.residual_feed_forward`),
    };
  }

  #embedding(name) {
    const { d_model: d, positions } = this.config;
    const table = this.tensors.get(`${name}.table.weight`), learned = this.tensors.get(`${name}.position_table`);
    const place = { sinusoidal: (at) => sinusoid(at, d), learned: (at) => rows(learned, at, at + 1).data }[positions];
    return (id, at) => {
      const x = rows(table, id, id + 1).data.map((value) => value * Math.sqrt(d));
      return place ? plus(x, place(at)) : x;
    };
  }
}

function sinusoid(at, d) {
  return Float32Array.from({ length: d }, (_, j) => {
    const angle = at / 10000 ** ((j - (j % 2)) / d);
    return j % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}
