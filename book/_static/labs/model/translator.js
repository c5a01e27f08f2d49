import { ByteBPE } from "./byte_bpe.js";
import { Transformer } from "./transformer.js";

const LANGUAGE = /^<([a-z]{2})>$/, LONGEST = 60;

// Un traductor guardado: su modelo y su tokenizador. Si sabe ir a varios idiomas, el origen empieza por el nombre de uno.
export class Translator {
  static async open(folder) {
    const [config, tensors, merges] = await Promise.all([folder.json("config.json"), folder.tensors(), folder.json("tokenizer.json")]);
    return new Translator(new Transformer(config, tensors), new ByteBPE(merges));
  }

  constructor(model, bpe) {
    Object.assign(this, { model, bpe, most: Math.min(LONGEST, model.config.max_length) });
    this.languages = bpe.specialNames.filter((name) => LANGUAGE.test(name));
  }

  // Los tokens del origen; lo que no cabe se deja fuera.
  source(text, language) {
    const { end_id: end, max_length: room } = this.model.config;
    const first = language ? [this.bpe.special[language]] : [];
    return [...first, ...this.bpe.encode(text).slice(0, room - 1 - first.length), end];
  }

  // A qué idioma se traduce: la elección, y la función que da la elegida; nada, si solo va a uno.
  target(group, chosen = this.languages[0]) {
    if (!this.languages.length) return { boxes: [], value: () => undefined };
    const called = new Intl.DisplayNames("es", { type: "language" });
    const options = this.languages.map((name) => [name, `al ${called.of(name.match(LANGUAGE)[1])}`]);
    const { box, value } = laboratory.choice(group, "A qué idioma", options, chosen);
    return { boxes: [box], value };
  }
}
