// El tokenizador por pares de bytes de course_lib/tokenization/byte_bpe.py, leído de su tokenizer.json.

// Lo que Python llama espacio; el `\s` de JavaScript no es el mismo.
export const SPACES = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const visible = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
const BYTES = [...Array(256).keys()];
const HIDDEN = BYTES.filter((byte) => !visible(byte));
const LETTERS = BYTES.map((byte) => String.fromCodePoint(visible(byte) ? byte : 256 + HIDDEN.indexOf(byte)));

export class ByteBPE {
  constructor({ pattern, special_tokens: special, merges }) {
    this.pieces = new RegExp(pattern.replaceAll("\\s", `[${SPACES}]`).replaceAll("\\S", `[^${SPACES}]`), "gv");
    this.ranks = new Map(merges.map(([left, right], i) => [`${left} ${right}`, i]));
    this.names = [...LETTERS, ...merges.map((pair) => pair.join(""))];
    this.ids = new Map(this.names.map((name, id) => [name, id]));
    BYTES.forEach((byte) => this.ids.set(LETTERS[byte], byte));
    this.first = this.names.length;
    this.special = Object.fromEntries(special.map((name, i) => [name, this.first + i]));
    this.specialNames = special;
    this.byteOf = new Map(LETTERS.map((letter, byte) => [letter, byte]));
  }

  encode(text) {
    const bytes = (piece) => Array.from(new TextEncoder().encode(piece), (byte) => LETTERS[byte]);
    return (text.match(this.pieces) ?? []).flatMap((piece) => this.#merge(bytes(piece)).map((name) => this.ids.get(name)));
  }

  // Siempre la fusión más antigua de las posibles, y entre iguales la primera por la izquierda.
  #merge(names) {
    for (;;) {
      let at = -1, oldest = Infinity;
      for (let i = 0; i + 1 < names.length; i++) {
        const rank = this.ranks.get(`${names[i]} ${names[i + 1]}`) ?? Infinity;
        if (rank < oldest) [at, oldest] = [i, rank];
      }
      if (at < 0) return names;
      names.splice(at, 2, names[at] + names[at + 1]);
    }
  }

  // Los bytes que no forman un carácter se cambian por «�»; los tokens especiales se omiten.
  decode(ids) {
    const bytes = ids.filter((id) => id < this.first).flatMap((id) => [...this.names[id]].map((letter) => this.byteOf.get(letter)));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
  }

  // El texto de un token para enseñarlo, con su espacio.
  name(id) {
    return this.specialNames[id - this.first] ?? this.decode([id]);
  }
}
