import { SPACES } from "./byte_bpe.js";

// El vocabulario de palabras de course_lib/tokenization/words.py, leído de su words.json: la 0 es el relleno y la 1, la desconocida.
const PIECES = new RegExp(`[\\p{L}\\p{N}_]+|[^\\p{L}\\p{N}_${SPACES}]`, "gu");

export const split = (text) => text.toLowerCase().match(PIECES) ?? [];

export class Words {
  constructor(words) {
    this.words = words;
    this.ids = new Map(words.map((word, id) => [word, id]));
  }

  known(word) {
    return this.ids.has(word);
  }

  encode(text) {
    return this.number(split(text));
  }

  number(words) {
    return words.map((word) => this.ids.get(word) ?? 1);
  }
}
