import { softmax } from "./model/layers.js";
import { bar, controls, fill, Heads, name, percent, resize, show, token, toolbar } from "./model/parts.js";
import { TransformerXL } from "./model/transformer_xl.js";
import { Words, split } from "./model/words.js";
import { best } from "./model/writing.js";

// Una sopa propia para el Transformer-XL guardado, con la memoria que se quiera: cuánto esperaba cada palabra y a quién
// mira para decirla. Una prueba compara los números con la biblioteca.
const { make } = laboratory;
const SEGMENT = 16, GUESSES = 5, ASKED = 49, PAUSE = 250, LOOK = [0, 2], LINE = "\n", END = "</s>";
// De combinaciones apartadas.
const SOUPS = [
  `Sopa de conejo
Conejo, cebolla, ajíes dulces, mantequilla, caldo de pollo, sal al gusto, pimentón, menta, nachos
Cocina a fuego lento durante 30 minutos y retira la espuma.
Sazona con sal y pimentón.
Espolvorea la menta picada por encima.
Sirve la sopa bien caliente con los nachos.`,
  `Sopa de remolacha
Remolachas, cebolletas, ají dulce, aceite de maíz, agua, sal al gusto, chile en polvo, cilantro, palitos de ajonjolí
Tapa la olla y cocina a fuego lento durante 30 minutos.
Sazona con sal y chile en polvo.
Pica el cilantro y espolvoréalo sobre la sopa.
Sirve la sopa bien caliente con los palitos de ajonjolí.`,
];

export async function build(place, folder) {
  const [config, tensors, words] = await Promise.all([folder.json("config.json"), folder.tensors(), folder.json("words.json")]);
  new Reader(new TransformerXL(config, tensors), new Words(words)).show(place);
}

// Las palabras de un texto; cada renglón acaba con un salto.
export const wordsOf = (text) => text.split(LINE).flatMap((line) => [...split(line), LINE]);

class Reader {
  constructor(model, words) {
    const { num_layers: blocks, num_heads: heads, memory_length: most } = model.config;
    Object.assign(this, { model, words, heads: new Heads("xl-memory-head", blocks, heads, LOOK) });
    this.text = make("textarea", { rows: 7, maxlength: 900, spellcheck: "false" });
    this.text.value = SOUPS[0];
    this.memory = laboratory.slider("m", "m, cuántas palabras recuerda", { min: 0, max: most, step: 8, value: most });
    this.asked = make("input", { type: "hidden", value: ASKED });
    this.soups = SOUPS.map((soup) => {
      const button = make("button", { type: "button" }, soup.split(LINE)[0]);
      button.addEventListener("click", () => { this.text.value = soup; this.ask(this.late()); });
      return button;
    });
    this.chips = toolbar("lab-tokens lab-segments", "El texto, en segmentos de 16 palabras: toca una para ver qué esperaba el modelo ahí");
    this.bars = make("ul", { class: "lab-bars" });
    this.said = make("p", { class: "lab-said", role: "status" });
  }

  show(place) {
    const text = make("label", { class: "lab-text" }, make("span", {}, "Tu sopa: el título, la lista y los pasos"), this.text);
    show(place, [controls(text, this.asked, ...this.soups), controls(this.memory.label), name("Cuánto esperaba cada palabra; en color, a quién mira para decir la marcada"),
      this.heads.box, this.chips, name("Lo que esperaba en la marcada"), this.bars], this.said);
    this.text.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.update(), PAUSE);
    });
    this.memory.slider.addEventListener("input", () => this.update());
    this.heads.box.addEventListener("input", () => this.update());
    this.update();
  }

  ask(at) {
    this.asked.value = at;
    this.asked.dispatchEvent(new Event("change", { bubbles: true })); // así queda en la dirección
    this.update();
  }

  // La primera palabra de los pasos que la lista ya nombró, y que no es de las de siempre.
  late() {
    const all = wordsOf(this.text.value), listed = all.indexOf(LINE), steps = all.indexOf(LINE, listed + 1);
    const named = all.slice(listed, steps).filter((word, i, list) => word.length > 3 && list[i - 1] === "," && !all.slice(0, listed).includes(word));
    const places = named.map((word) => all.lastIndexOf(word)).filter((at) => at > steps);
    return places.at(-2) ?? places[0] ?? 1;
  }

  // Lo que el modelo espera en cada palabra: el primer token que lee es el fin de la receta anterior.
  read(all, limit) {
    const ids = this.words.number([END, ...all]), { logits, weights, first } = this.model.readAll(ids.slice(0, -1), SEGMENT, limit);
    const shares = logits.map((each) => softmax(each));
    return { shares, weights, first, own: shares.map((each, at) => each[ids[at + 1]]) };
  }

  update() {
    const all = wordsOf(this.text.value), limit = Number(this.memory.slider.value), asked = Math.min(Number(this.asked.value), all.length - 1);
    const found = this.read(all, limit);
    laboratory.tell(this.memory, limit ? String(limit) : "0, ninguna");
    // La posición que predice la palabra marcada lee hasta la anterior; su primera clave es la posición `first`.
    const names = [END, ...all].slice(found.first[asked], asked + 1), seen = this.heads.choose(found.weights[asked], names.map(shown));
    this.drawChips(all, found, asked, seen);
    const guesses = best(found.shares[asked], GUESSES);
    resize(this.bars, guesses.length, () => bar("li")).forEach((node, i) => fill(node, shown(this.words.words[guesses[i]]), found.shares[asked][guesses[i]]));
    this.said.textContent = this.told(all, found, asked, seen, limit);
  }

  drawChips(all, { own, first }, asked, seen) {
    resize(this.chips, all.length, (at) => {
      const chip = token("button", { type: "button" });
      chip.addEventListener("click", () => this.ask(at));
      return chip;
    }).forEach((chip, at) => {
      const [word, number] = chip.children, place = at + 1 - first[asked]; // la palabra `at` es la posición at + 1
      word.textContent = shown(all[at]);
      number.textContent = percent(own[at]);
      chip.style.setProperty("--weight", at < asked && place >= 0 ? seen[place].toFixed(3) : "0");
      chip.classList.toggle("lab-cut", (at + 1) % SEGMENT === 0);
      chip.classList.toggle("lab-unseen", at + 1 < first[asked]);
      chip.classList.toggle("lab-unknown", !this.words.known(all[at]));
      laboratory.set(chip, { "aria-pressed": at === asked });
    });
  }

  told(all, { own, first }, asked, seen, limit) {
    const most = seen.indexOf(Math.max(...seen)), at = first[asked] + most - 1, back = asked - at;
    const from = Math.max(0, Math.floor(asked / SEGMENT) * SEGMENT - first[asked]), remembered = seen.slice(0, from).reduce((a, b) => a + b, 0);
    const unknown = [...new Set(all.filter((word) => !this.words.known(word)))].map((word) => `«${word}»`);
    const other = limit ? 0 : this.model.config.memory_length, changed = this.read(all, other).own[asked];
    return [
      `${limit ? `Con memoria de ${limit}` : "Sin memoria"}, esperaba «${shown(all[asked])}» con ${percent(own[asked])}; ${other ? `con ${other}` : "sin ella"}, con ${percent(changed)}.`,
      `${this.heads.said()} mira sobre todo a «${at < 0 ? END : shown(all[at])}», ${back === 1 ? "la anterior" : `${back} palabras atrás`} (${seen[most].toFixed(2)})${limit ? `, y da a la memoria ${remembered.toFixed(2)} de su peso` : ""}.`,
      unknown.length && `No conoce ${unknown.join(", ")}.`,
    ].filter(Boolean).join(" ");
  }
}

const shown = (word) => (word === LINE ? "↵" : word);
