import { Classifier } from "./model/classifier.js";
import { controls, name, percent, resize, show, token, toolbar } from "./model/parts.js";
import { Words, split } from "./model/words.js";

// Una opinión propia y el clasificador guardado: su respuesta y qué palabras la mueven. De cada una se mide el cambio al
// quitarla y leer el texto sin ella. Una prueba compara los números con la biblioteca.
const { make } = laboratory;
const OPINIONS = [
  "No me pareció nada aburrido, pero quedó soso.",
  "Quedó soso, pero no me pareció nada aburrido.",
  "Todos se quejaron, aunque resultó exquisito.",
  "No es cierto que la sopa estuviera sosa.",
];
const PAUSE = 150;

export async function build(place, folder) {
  const [config, tensors, words] = await Promise.all([folder.json("config.json"), folder.tensors(), folder.json("words.json")]);
  new Opinion(new Classifier(config, tensors), new Words(words)).show(place);
}

class Opinion {
  constructor(model, words) {
    Object.assign(this, { model, words });
    this.text = make("input", { type: "text", value: OPINIONS[0], maxlength: 200, spellcheck: "false" });
    this.without = make("input", { type: "hidden" }); // las palabras quitadas, por su lugar: «2,7»
    this.opinions = OPINIONS.map((text) => {
      const button = make("button", { type: "button" }, text);
      button.addEventListener("click", () => this.put(text));
      return button;
    });
    this.meter = make("div", { class: "lab-meter", "aria-hidden": "true" }, make("span", {}, "negativa"), make("span", {}, "positiva"));
    this.scale = laboratory.choice("classifier-scale", "En qué se mide lo que empuja", [["share", "en probabilidad"], ["score", "en puntuación"]], "share", "lab-words");
    this.chips = toolbar("lab-tokens", "Las palabras, con lo que cada una mueve: toca una para quitarla o ponerla");
    this.said = make("p", { class: "lab-said", role: "status" });
  }

  show(place) {
    const text = make("label", { class: "lab-text" }, make("span", {}, "Tu opinión sobre un plato"), this.text);
    const opinions = make("fieldset", { class: "lab-words" }, make("legend", { class: "visually-hidden" }, "O una de estas"), ...this.opinions);
    show(place, [controls(text, this.without, opinions), name("Lo que contesta"), this.meter,
      name("Cuánto empuja cada palabra hacia «positiva» (+) o hacia «negativa» (−)"), controls(this.scale.box), this.chips], this.said);
    this.text.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.put(this.text.value), PAUSE);
    });
    this.scale.box.addEventListener("input", () => this.update());
    this.update();
  }

  put(text) {
    this.text.value = text;
    this.leaveOut([]);
  }

  leaveOut(places) {
    this.without.value = places.join(",");
    this.without.dispatchEvent(new Event("change", { bubbles: true })); // así queda en la dirección
    this.update();
  }

  removed() {
    return this.without.value.split(",").filter(Boolean).map(Number);
  }

  toggle(at) {
    const removed = this.removed();
    this.leaveOut(removed.includes(at) ? removed.filter((each) => each !== at) : [...removed, at].sort((a, b) => a - b));
  }

  // La puntuación de «positiva» con las palabras de esos lugares.
  score(ids, places) {
    return this.model.score(places.map((at) => ids[at]))[1];
  }

  update() {
    const all = split(this.text.value).slice(0, this.model.config.max_length), ids = this.words.number(all), removed = this.removed();
    const kept = [...all.keys()].filter((at) => !removed.includes(at)), score = this.score(ids, kept), share = sigmoid(score);
    const without = all.map((_, at) => (removed.includes(at) ? score : this.score(ids, kept.filter((each) => each !== at))));
    this.meter.style.setProperty("--share", share.toFixed(3));
    this.drawChips(all, without.map((each) => [share - sigmoid(each), score - each]), removed);
    this.said.textContent = all.length ? this.told(all, share, without.map(sigmoid), kept) : "Escribe una opinión.";
  }

  // De cada palabra, lo que cambia la probabilidad y la puntuación.
  drawChips(all, pushes, removed) {
    const scored = this.scale.value() === "score", chosen = pushes.map(([share, score]) => (scored ? score : share));
    const most = scored ? Math.max(1e-9, ...chosen.map(Math.abs)) : 1;
    resize(this.chips, all.length, (at) => {
      const chip = token("button", { type: "button" });
      chip.classList.add("lab-pushing");
      chip.addEventListener("click", () => this.toggle(at));
      return chip;
    }).forEach((chip, at) => {
      const out = removed.includes(at), [word, number] = chip.children;
      word.textContent = all[at];
      number.textContent = out ? "quitada" : signed(chosen[at], scored);
      chip.style.setProperty("--push", (chosen[at] / most).toFixed(3));
      chip.classList.toggle("lab-against", chosen[at] < 0);
      chip.classList.toggle("lab-unknown", !this.words.known(all[at]));
      laboratory.set(chip, { "aria-pressed": out });
    });
  }

  told(all, share, without, kept) {
    const said = (share) => `«${share > 0.5 ? "positiva" : "negativa"}» (${percent(Math.max(share, 1 - share))})`;
    const sizes = kept.map((at) => Math.abs(share - without[at])), most = kept[sizes.indexOf(Math.max(...sizes))];
    const unknown = [...new Set(all.filter((word) => !this.words.known(word)))].map((word) => `«${word}»`);
    const turns = most !== undefined && (without[most] > 0.5) !== (share > 0.5);
    return [
      `Dice ${said(share)}.`,
      most !== undefined && `La palabra que más la cambia es «${all[most]}»: sin ella ${turns ? "diría" : "seguiría diciendo"} ${said(without[most])}.`,
      unknown.length && `No conoce ${unknown.join(", ")}.`,
    ].filter(Boolean).join(" ");
  }
}

const sigmoid = (z) => 1 / (1 + Math.exp(-z));

// En puntos de cada cien, la probabilidad; con un decimal, la puntuación.
function signed(push, scored) {
  const text = scored ? laboratory.decimal(push, 1) : laboratory.decimal(100 * push, 0);
  return Number(text) > 0 ? `+${text}` : text;
}
