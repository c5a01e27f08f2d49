import { MaskedBert } from "./model/bert.js";
import { softmax } from "./model/layers.js";
import { bar, controls, fill, Heads, name, percent, resize, shade, show, token, toolbar, write } from "./model/parts.js";
import { WordPiece } from "./model/word_piece.js";
import { best } from "./model/writing.js";

// Una oración propia para el BERT guardado: lo que se toca se tapa, y él dice qué había. Una prueba compara lo que
// contesta con la biblioteca.
const { make } = laboratory;
const GUESSES = 5, FIRST = "Pica el ajo y la cebolla, y sofríela.", HOLE = "5", LOOK = [1, 3];

export async function build(place, folder) {
  const [config, tensors, vocabulary, settings] = await Promise.all([
    folder.json("config.json"), folder.tensors(), folder.text("vocab.txt"), folder.json("tokenizer_config.json"),
  ]);
  new Guesses(new MaskedBert(config, tensors), new WordPiece(vocabulary, settings)).show(place);
}

class Guesses {
  constructor(bert, pieces) {
    const { num_hidden_layers: blocks, num_attention_heads: heads } = bert.config;
    Object.assign(this, { bert, pieces, heads: new Heads("bert-guesses", blocks, heads, LOOK) });
    this.text = make("input", { type: "text", value: FIRST, maxlength: 200, spellcheck: "false" });
    this.holes = make("input", { type: "hidden", value: HOLE });
    this.chips = toolbar("lab-tokens", "Los tokens: toca uno para taparlo o descubrirlo");
    this.bars = make("ul", { class: "lab-bars" });
    this.said = make("p", { class: "lab-said", role: "status" });
  }

  show(place) {
    const text = make("label", { class: "lab-text" }, make("span", {}, "Tu oración"), this.text);
    this.text.addEventListener("input", () => this.update());
    this.heads.box.addEventListener("input", () => this.update());
    show(place, [controls(text, this.holes), name("A quién mira el hueco"), this.heads.box, this.chips,
      name("Lo que va en el hueco"), this.bars], this.said);
    this.update();
  }

  // Las posiciones tapadas, la última la que se pregunta.
  hidden() {
    return this.holes.value.split(",").filter(Boolean).map(Number).filter((at) => at > 0 && at < this.ids.length - 1);
  }

  toggle(at) {
    const others = this.hidden().filter((each) => each !== at);
    this.holes.value = (this.hidden().includes(at) ? others : [...others, at]).join(",");
    this.holes.dispatchEvent(new Event("change", { bubbles: true })); // así queda en la dirección
    this.update();
  }

  update() {
    const special = (name) => this.pieces.ids.get(name);
    const room = this.bert.config.max_position_embeddings - 2;
    this.ids = [special("[CLS]"), ...this.pieces.encode(this.text.value).slice(0, room), special("[SEP]")];
    const hidden = this.hidden(), asked = hidden.at(-1) ?? 0;
    const { states, weights } = this.bert.read(this.ids.map((id, at) => (hidden.includes(at) ? special("[MASK]") : id)));
    const names = this.ids.map((id, at) => (hidden.includes(at) ? "[MASK]" : this.pieces.vocabulary[id]));
    const seen = this.heads.choose(weights.map((block) => block.map((head) => head[asked])), names);
    this.drawChips(names, hidden, asked, seen);
    const found = hidden.length ? this.answers(states[asked]) : [];
    resize(this.bars, found.length, () => bar("li")).forEach((node, i) => fill(node, ...found[i]));
    const most = seen.indexOf(Math.max(...seen));
    this.said.textContent = found.length
      ? `En el hueco, «${found[0][0]}» (${percent(found[0][1])}). ${this.heads.said()} mira desde él sobre todo a «${names[most]}» (${seen[most].toFixed(2)}).`
      : "Toca una palabra para taparla. Los pesos son los de [CLS].";
  }

  answers(state) {
    const shares = softmax(this.bert.guess(state));
    return best(shares, GUESSES).map((id) => [this.pieces.vocabulary[id], shares[id]]);
  }

  drawChips(names, hidden, asked, seen) {
    const chips = resize(this.chips, names.length, (at) => {
      const chip = token("button", { type: "button" });
      chip.addEventListener("click", () => this.toggle(at));
      return chip;
    });
    chips.forEach((chip, at) => {
      const edge = at === 0 || at === names.length - 1;
      chip.disabled = edge;
      laboratory.set(chip, { "aria-pressed": hidden.includes(at), "data-asked": hidden.length > 0 && at === asked });
      write(chip, names[at], "");
      shade(chip, seen[at]);
    });
  }
}
