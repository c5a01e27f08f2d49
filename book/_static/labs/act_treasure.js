import { bar, controls, fill, name, resize, show, token, write } from "./model/parts.js";
import { Universal } from "./model/universal.js";
import { best } from "./model/writing.js";

// Diez casillas propias para el Universal Transformer guardado: a qué cifra se llega desde cada una, cuántos pasos da
// y, en cada paso, a quién mira. Una prueba compara lo que contesta con la biblioteca.
const { make } = laboratory;
const FIRST_DIGIT = 1, FIRST_BOX = 11; // como en course_lib/data/algorithmic.py
const LISTS = [
  ["Un camino largo", "→3 5 →0 →7 →1 2 →4 →9 →2 8".split(" ")],
  ["Saltos cortos", "→1 4 →3 0 →5 9 →7 1 →9 6".split(" ")],
  ["Un círculo", "→1 →2 →0 7 →3 →4 2 →6 5 →8".split(" ")],
];
const ASKED = 8;
const pointed = (said) => (said.startsWith("→") ? Number(said.slice(1)) : null);

export async function build(place, folder) {
  const [config, tensors] = await Promise.all([folder.json("config.json"), folder.tensors()]);
  new Treasure(new Universal(config, tensors)).show(place);
}

// Las casillas por las que se pasa desde una hasta su cifra, y esa cifra; ninguna, si el camino es un círculo.
export function path(boxes, from) {
  const seen = [from];
  for (let at = pointed(boxes[from]); at !== null; at = pointed(boxes[at])) {
    if (seen.includes(at)) return { seen, digit: null };
    seen.push(at);
  }
  return { seen, digit: Number(boxes[seen.at(-1)]) };
}

class Treasure {
  constructor(model) {
    const { max_length: count } = model.config, numbers = [...Array(count).keys()];
    const options = [...numbers.map(String), ...numbers.map((i) => `→${i}`)];
    Object.assign(this, { model, most: model.config.max_steps });
    this.boxes = numbers.map((i) => make("select", { "aria-label": `Qué dice la casilla ${i}` },
      ...options.map((said) => new Option(said.replace("→", "→ "), said, false, said === LISTS[0][1][i]))));
    this.chips = numbers.map((i) => {
      const chip = token("button", { type: "button" });
      chip.addEventListener("click", () => this.ask(i));
      return chip;
    });
    this.asked = make("input", { type: "hidden", value: ASKED });
    this.lists = LISTS.map(([title, said]) => {
      const button = make("button", { type: "button" }, title);
      button.addEventListener("click", () => this.put(said));
      return button;
    });
    this.bars = make("ol", { class: "lab-bars" });
    this.said = make("p", { class: "lab-said", role: "status" });
  }

  show(place) {
    const cells = this.boxes.map((box, i) => make("div", {}, make("label", {}, `casilla ${i}`, box), this.chips[i]));
    const grid = make("div", { class: "lab-controls lab-boxes" }, ...cells, this.asked);
    show(place, [controls(...this.lists), grid, name("Los pasos de la casilla marcada; la barra, lo acumulado para parar"), this.bars], this.said);
    grid.addEventListener("input", () => this.update());
    this.update();
  }

  put(said) {
    this.boxes.forEach((box, i) => { box.value = said[i]; });
    this.ask(this.farthest(said));
  }

  // La casilla más lejos de su cifra, o en un círculo.
  farthest(said) {
    const far = said.map((_, i) => path(said, i)).map(({ seen, digit }) => (digit === null ? Infinity : seen.length));
    return far.indexOf(Math.max(...far));
  }

  ask(i) {
    this.asked.value = i;
    this.asked.dispatchEvent(new Event("change", { bubbles: true })); // así queda en la dirección
    this.update();
  }

  update() {
    const said = this.boxes.map(({ value }) => value), asked = Number(this.asked.value);
    const ids = said.map((each) => (pointed(each) === null ? FIRST_DIGIT + Number(each) : FIRST_BOX + pointed(each)));
    const { trace, places, logits } = this.model.read(ids);
    const answers = logits.map(digit), paths = said.map((_, i) => path(said, i));
    this.chips.forEach((chip, i) => {
      const { steps } = places[i], wrong = paths[i].digit !== null && paths[i].digit !== answers[i];
      write(chip, `«${answers[i]}»`, `${counted(steps)}${wrong ? ", mal" : ""}`);
      chip.style.setProperty("--weight", (steps / this.most).toFixed(2));
      laboratory.set(chip, { "aria-pressed": i === asked, "aria-label": `Casilla ${i}: ${chip.textContent}` });
    });
    this.drawSteps(trace.map((rows) => rows[asked]).filter(({ active }) => active));
    this.said.textContent = `${this.told(asked, paths[asked], answers[asked], places[asked].steps)} ${this.whole(places, paths, answers)}`;
  }

  // De cada paso, la casilla a la que más mira una de las cabezas.
  drawSteps(steps) {
    resize(this.bars, steps.length, () => bar("li")).forEach((node, n) => {
      const { weights, total, logits } = steps[n], seen = weights[0].map((_, at) => Math.max(...weights.map((head) => head[at])));
      const weight = Math.max(...seen), to = seen.indexOf(weight);
      fill(node, `${n + 1}: mira a la ${to} (${weight.toFixed(2)}) y diría «${digit(logits)}»`, Math.min(total, 1));
    });
  }

  told(asked, { seen, digit: right }, answer, steps) {
    if (right === null) return `Desde la casilla ${asked} se da vueltas: no hay respuesta. El modelo, que no vio ningún círculo, da ${counted(steps)} y dice «${answer}».`;
    const hops = seen.length - 1;
    return `Desde la casilla ${asked} se llega a «${right}» en ${hops === 1 ? "1 salto" : `${hops} saltos`}; el modelo da ${counted(steps)} y dice «${answer}».`;
  }

  whole(places, paths, answers) {
    const mean = places.reduce((sum, { steps }) => sum + steps, 0) / places.length;
    const real = paths.filter(({ digit: right }) => right !== null).length, right = paths.filter((each, i) => each.digit === answers[i]).length;
    return `En toda la lista acierta ${right} de ${real}, con ${mean.toFixed(1)} pasos de media.`;
  }
}

const digit = (logits) => best(logits, 1)[0] - FIRST_DIGIT;
const counted = (steps) => (steps === 1 ? "1 paso" : `${steps} pasos`);
