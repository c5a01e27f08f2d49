// El tokenizador de BERT, course_lib/tokenization/word_piece.py, leído de vocab.txt y tokenizer_config.json.

const LONGEST_WORD = 100;
const CONTROL = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd]/u;
const IDEOGRAM = /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b820}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/u;
const MARK = /[\p{P}!-/:-@[-`{-~]/u;

export class WordPiece {
  constructor(vocabulary, { do_lower_case: lowercase, strip_accents: strip }) {
    this.vocabulary = vocabulary.replace(/\n$/, "").split("\n").map((line) => line.trimEnd());
    this.ids = new Map(this.vocabulary.map((token, id) => [token, id]));
    this.lowercase = lowercase;
    this.strip = strip ?? lowercase;
  }

  tokens(text) {
    return this.words(text).flatMap((word) => this.#split([...word]));
  }

  encode(text) {
    return this.tokens(text).map((token) => this.ids.get(token));
  }

  // Palabras, signos e ideogramas, ya limpios.
  words(text) {
    let clean = Array.from(text, cleaned).join("");
    if (this.strip) clean = clean.normalize("NFD").replace(/\p{Mn}/gu, "");
    if (this.lowercase) clean = Array.from(clean, (c) => c.toLowerCase()).join(""); // carácter a carácter: sin la sigma final
    const spaced = Array.from(clean, (c) => (MARK.test(c) ? ` ${c} ` : c)).join("");
    return spaced.split(" ").filter(Boolean);
  }

  // Cada vez, el trozo más largo del vocabulario con que empieza lo que queda.
  #split(letters) {
    const pieces = [];
    if (letters.length > LONGEST_WORD) return ["[UNK]"];
    for (let start = 0; start < letters.length;) {
      let end = letters.length;
      const piece = () => (start ? "##" : "") + letters.slice(start, end).join("");
      while (end > start && !this.ids.has(piece())) end--;
      if (end === start) return ["[UNK]"];
      pieces.push(piece());
      start = end;
    }
    return pieces;
  }
}

function cleaned(c) {
  if ("\t\n\r".includes(c)) return " ";
  if (CONTROL.test(c)) return "";
  if (/\p{Z}/u.test(c)) return " ";
  return IDEOGRAM.test(c) ? ` ${c} ` : c;
}
