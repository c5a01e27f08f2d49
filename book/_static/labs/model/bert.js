import { ACTIVATIONS, Attention, encoderBlock, feedForward, layerNorm, linear, plus, residual, rows } from "./layers.js";

// El BERT de course_lib/models/bert, leído de una carpeta como las de Hugging Face: un vector por token.
export class Bert {
  constructor(config, tensors) {
    [this.config, this.tensors] = [config, tensors];
    // Allí, los nombres de un codificador solo no dicen de quién es.
    this.own = tensors.has("bert.embeddings.LayerNorm.weight") ? "bert." : "";
    const blocks = [...Array(config.num_hidden_layers).keys()];
    this.blocks = blocks.map((i) => this.#block(`${this.own}encoder.layer.${i}`));
    this.norm = this.normed(`${this.own}embeddings.LayerNorm`);
    this.words = tensors.get(`${this.own}embeddings.word_embeddings.weight`);
  }

  // Los vectores de una oración, o de dos con sus segmentos, y los pesos, [bloque][cabeza][t_q][t_k].
  read(ids, segments = ids.map(() => 0)) {
    let X = ids.map((id, at) => this.#embed(id, at, segments[at]));
    const weights = this.blocks.map((block) => {
      const found = encoderBlock(block, X);
      X = found.X;
      return found.weights;
    });
    return { states: X, weights };
  }

  normed(name) {
    return layerNorm(this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`), this.config.layer_norm_eps);
  }

  linear(name) {
    return linear(this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`));
  }

  #embed(id, at, segment) {
    const row = (name, i) => rows(this.tensors.get(`${this.own}embeddings.${name}_embeddings.weight`), i, i + 1).data;
    return this.norm(plus(plus(row("word", id), row("position", at)), row("token_type", segment)));
  }

  #block(name) {
    const { num_attention_heads: heads, hidden_act: activation } = this.config;
    const [query, key, value] = ["query", "key", "value"].map((each) => this.linear(`${name}.attention.self.${each}`));
    return {
      read: (x) => x,
      attention: new Attention(query, key, value, this.linear(`${name}.attention.output.dense`), heads),
      aroundAttention: residual("post", this.normed(`${name}.attention.output.LayerNorm`)),
      network: feedForward(this.linear(`${name}.intermediate.dense`), this.linear(`${name}.output.dense`), activation),
      aroundNetwork: residual("post", this.normed(`${name}.output.LayerNorm`)),
    };
  }
}

// El que dice qué palabra va en cada hueco.
export class MaskedBert extends Bert {
  constructor(config, tensors) {
    super(config, tensors);
    this.transform = this.linear("cls.predictions.transform.dense");
    this.outputNorm = this.normed("cls.predictions.transform.LayerNorm");
    this.logits = linear(this.words, tensors.get("cls.predictions.bias"));
  }

  // Los logits de cada palabra del vocabulario, a partir del vector de una posición.
  guess(state) {
    return this.logits(this.outputNorm(this.transform(state).map(ACTIVATIONS[this.config.hidden_act])));
  }
}

// El ajustado a cinco tareas, de book/_models/tuning.py: lee «[CLS] primera [SEP] segunda [SEP]» y contesta con la cabeza de
// cada una. Lo que lee se hace con `joined`.
export class TunedBert extends Bert {
  constructor(config, tensors) {
    super(config, tensors);
    const names = ["sentence", "pair", "choice", "question", "words"];
    this.heads = Object.fromEntries(names.map((name) => [name, this.linear(`classifier.${name}`)]));
    this.pooler = this.linear(`${this.own}pooler.dense`);
  }

  // Del texto entero, lo que puntúa la cabeza: las clases de una oración o de un par, o una opción.
  score(name, { ids, segments }) {
    const [first] = this.read(ids, segments).states;
    return this.heads[name](this.pooler(first).map(Math.tanh));
  }

  // De cada token, lo que puntúa: [comienzo, fin] en la pregunta; las categorías, en las palabras.
  scoreTokens(name, { ids, segments }) {
    return this.read(ids, segments).states.map(this.heads[name]);
  }
}

// «[CLS] primera [SEP] segunda [SEP]», con sus segmentos; si no cabe, pierde tokens del final la más larga, y si miden lo
// mismo, la segunda. `whole` dice si cupo.
export function joined(first, second, { special, most }) {
  const parts = second ? [[...first], [...second]] : [[...first]];
  const room = most - 1 - parts.length, length = () => parts.reduce((sum, part) => sum + part.length, 0);
  const whole = length() <= room;
  while (length() > room) (parts[1]?.length >= parts[0].length ? parts[1] : parts[0]).pop();
  const ids = [special("[CLS]"), ...parts.flatMap((part) => [...part, special("[SEP]")])];
  return { ids, segments: ids.map((_, at) => Number(at > parts[0].length + 1)), whole };
}
