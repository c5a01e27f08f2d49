import { ACTIVATIONS, Attention, encoderBlock, feedForward, layerNorm, linear, plus, residual, rows } from "./layers.js";

// El BERT de course_lib/models/bert, leído de una carpeta como las de Hugging Face: qué palabra va en cada hueco.
export class Bert {
  constructor(config, tensors) {
    [this.config, this.tensors] = [config, tensors];
    const blocks = [...Array(config.num_hidden_layers).keys()];
    this.blocks = blocks.map((i) => this.#block(`bert.encoder.layer.${i}`));
    this.norm = this.#norm("bert.embeddings.LayerNorm");
    this.transform = this.#linear("cls.predictions.transform.dense");
    this.outputNorm = this.#norm("cls.predictions.transform.LayerNorm");
    this.logits = linear(tensors.get("bert.embeddings.word_embeddings.weight"), tensors.get("cls.predictions.bias"));
  }

  // Una oración: un vector por token, y los pesos, [bloque][cabeza][t_q][t_k].
  read(ids) {
    let X = ids.map((id, at) => this.#embed(id, at));
    const weights = this.blocks.map((block) => {
      const found = encoderBlock(block, X);
      X = found.X;
      return found.weights;
    });
    return { states: X, weights };
  }

  // Los logits de cada palabra del vocabulario, a partir del vector de una posición.
  guess(state) {
    return this.logits(this.outputNorm(this.transform(state).map(ACTIVATIONS[this.config.hidden_act])));
  }

  #embed(id, at) {
    const row = (name, i) => rows(this.tensors.get(`bert.embeddings.${name}_embeddings.weight`), i, i + 1).data;
    return this.norm(plus(plus(row("word", id), row("position", at)), row("token_type", 0)));
  }

  #norm(name) {
    return layerNorm(this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`), this.config.layer_norm_eps);
  }

  #linear(name) {
    return linear(this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`));
  }

  #block(name) {
    const { num_attention_heads: heads, hidden_act: activation } = this.config;
    const [query, key, value] = ["query", "key", "value"].map((each) => this.#linear(`${name}.attention.self.${each}`));
    return {
      read: (x) => x,
      attention: new Attention(query, key, value, this.#linear(`${name}.attention.output.dense`), heads),
      aroundAttention: residual("post", this.#norm(`${name}.attention.output.LayerNorm`)),
      network: feedForward(this.#linear(`${name}.intermediate.dense`), this.#linear(`${name}.output.dense`), activation),
      aroundNetwork: residual("post", this.#norm(`${name}.output.LayerNorm`)),
    };
  }
}
