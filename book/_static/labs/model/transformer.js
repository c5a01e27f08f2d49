import { linear } from "./layers.js";
import { Pieces } from "./pieces.js";

// El Transformer de course_lib/models/transformer.py, con sus pesos y su config.json.
export class Transformer {
  constructor(config, tensors) {
    this.config = config;
    const pieces = new Pieces(config, tensors), layers = [...Array(config.num_layers).keys()], both = "encoder_decoder";
    this.encoder = pieces.encoder(`${both}.encoder`);
    this.decoder = layers.map((i) => decoderBlock(pieces, `${both}.decoder.blocks.${i}`));
    this.norm = pieces.finalNorm(`${both}.decoder.norm`);
    const target = config.target_vocab === null ? "source_embedding" : "target_embedding";
    this.embedSource = pieces.embedding("source_embedding");
    this.embedTarget = pieces.embedding(target);
    this.logits = linear(tensors.get(`${target}.table.weight`));
  }

  // Lee el origen: un vector por token, y los pesos de cada bloque, [bloque][cabeza][t_q][t_k].
  encode(ids) {
    return this.encoder(ids.map(this.embedSource));
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
    return { logits: this.logits(this.norm(y)), cross, state: next };
  }
}

function decoderBlock(pieces, name) {
  return {
    read: pieces.read(`${name}.residual_self`),
    self: pieces.attention(`${name}.self_attention`), aroundSelf: pieces.around(`${name}.residual_self`),
    cross: pieces.attention(`${name}.cross_attention`), aroundCross: pieces.around(`${name}.residual_cross`),
    network: pieces.network(`${name}.feed_forward`), aroundNetwork: pieces.around(`${name}.residual_feed_forward`),
  };
}
