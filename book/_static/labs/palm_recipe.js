import { ByteBPE } from "./model/byte_bpe.js";
import { PaLM, cut } from "./model/palm.js";
import { bar, controls, fill, name, percent, resize, show, token, toolbar, write } from "./model/parts.js";
import { best, drawn, luck, proceed, sampling } from "./model/writing.js";

// Un título propio y la receta que escribe el PaLM guardado, token a token; en cada uno, sus candidatos. Una prueba
// compara lo que escribe con la biblioteca.
const { make } = laboratory;
const CANDIDATES = 5, PAUSE = 400, LONGEST = 500;
// Los primeros son de combinaciones apartadas; del último no hay ninguna.
const TITLES = ["Crema de yuca", "Helado de arándanos", "Burritos de pollo", "Sopa de dragón"];

export async function build(place, folder) {
  const [config, tensors, merges] = await Promise.all([folder.json("config.json"), folder.tensors(), folder.json("tokenizer.json")]);
  new Recipe(new PaLM(config, tensors), new ByteBPE(merges)).show(place);
}

class Recipe {
  constructor(model, bpe) {
    Object.assign(this, { model, bpe, turn: 0, steps: [], end: bpe.special["</s>"] });
    this.title = make("input", { type: "text", value: TITLES[0], maxlength: 80, spellcheck: "false" });
    this.titles = TITLES.map((title) => make("button", { type: "button" }, title));
    this.heat = laboratory.slider("T", "T, la temperatura", { min: 0, max: 2, step: 0.1, value: 0 });
    this.mass = laboratory.slider("top-p", "top-p: cuánta probabilidad basta", { min: 0.05, max: 1, step: 0.05, value: 1 });
    this.seed = make("input", { type: "hidden", value: 1 });
    this.path = make("input", { type: "hidden" }); // el token que se mira y los impuestos, cada uno en su lugar: «7;7:402,31:12»
    this.again = make("button", { type: "button" }, "Otra suerte");
    this.pause = make("button", { type: "button" }, "Parar");
    this.lines = toolbar("lab-lines", "La receta: toca un renglón para ver sus tokens", true);
    this.chips = toolbar("lab-tokens", "Los tokens del renglón: toca uno para ver sus candidatos");
    this.bars = make("div", { class: "lab-bars", role: "group", "aria-label": "Los candidatos del token: toca otro para seguir con él" });
    this.said = make("p", { class: "lab-said", role: "status" });
  }

  show(place) {
    const { heat, mass, seed, path, again, pause } = this;
    const text = make("label", { class: "lab-text" }, make("span", {}, "Tu título"), this.title);
    const titles = make("fieldset", { class: "lab-words" }, make("legend", { class: "visually-hidden" }, "O uno de estos"), ...this.titles);
    const chance = controls(heat.label, mass.label, again, pause);
    chance.classList.add("lab-pairs");
    show(place, [controls(text, seed, path, titles), chance, this.lines, name("Los tokens del renglón marcado"),
      this.chips, name("Los candidatos del token marcado"), this.bars], this.said);
    this.title.addEventListener("input", () => this.later());
    [heat, mass].forEach(({ slider }) => slider.addEventListener("input", () => { this.tell(); this.later(); }));
    this.titles.forEach((button, i) => button.addEventListener("click", () => { this.title.value = TITLES[i]; this.choose("", []); }));
    again.addEventListener("click", () => { seed.value = Number(seed.value) + 1; this.choose("", []); });
    pause.addEventListener("click", () => this.stopOrGoOn());
    this.tell();
    return this.write();
  }

  tell() {
    const { temperature, topP } = this.options();
    laboratory.tell(this.heat, temperature ? temperature.toFixed(1) : "0, sin azar");
    laboratory.tell(this.mass, topP.toFixed(2));
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.choose("", []), PAUSE);
  }

  options() {
    const [temperature, topP] = [this.heat, this.mass].map(({ slider }) => Number(slider.value));
    return { temperature, topP };
  }

  // Los tokens impuestos: en qué lugar, cuál.
  imposed() {
    return (this.path.value.split(";")[1] ?? "").split(",").filter(Boolean).map((pair) => pair.split(":").map(Number));
  }

  remember(asked, imposed) {
    this.path.value = `${asked};${imposed.map((pair) => pair.join(":")).join(",")}`;
    this.path.dispatchEvent(new Event("change", { bubbles: true }));
  }

  choose(asked, imposed, from = 0) {
    this.remember(asked, imposed);
    return this.write(from);
  }

  // Otro candidato en el token que se mira: lo de antes queda, con su caché, y se sigue desde ahí.
  follow(id) {
    const asked = this.asked();
    return this.choose(asked, [...this.imposed().filter(([at]) => at < asked), [asked, id]], asked);
  }

  stopOrGoOn() {
    if (!this.busy) return this.write(this.ended() ? 0 : this.steps.length);
    this.turn++;
    return this.draw();
  }

  room() {
    return LONGEST - this.prompt.length;
  }

  ended() {
    return this.steps.at(-1)?.id === this.end || this.steps.length >= this.room();
  }

  // Cómo se elige desde el token `from`: el impuesto o, con azar, el que diga el número que le toca a su lugar.
  chooser(from) {
    const next = luck(Number(this.seed.value)), imposed = new Map(this.imposed()), options = this.options();
    for (let i = 0; i < from; i++) next();
    let at = from;
    return (logits, shares) => {
      const number = next();
      return imposed.get(at++) ?? (options.temperature ? drawn(sampling(logits, options), number) : best(shares, 1)[0]);
    };
  }

  // Escribe desde el token `from`, y se ve crecer; si mientras tanto cambia lo que se pide, se deja.
  async write(from = 0) {
    const turn = ++this.turn, calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!from) {
      this.prompt = this.bpe.encode(`${this.title.value}\n`);
      this.state = this.model.start(this.prompt).state;
    }
    this.steps = this.steps.slice(0, from);
    this.lines.style.minHeight = `${this.lines.offsetHeight}px`; // lo de debajo no salta mientras se reescribe
    this.busy = true;
    this.said.textContent = "Escribiendo…";
    this.pause.textContent = "Parar";
    const start = { last: this.steps.at(-1)?.id ?? this.prompt.at(-1), end: this.end, state: cut(this.state, this.prompt.length - 1 + from) };
    for await (const { id, shares, logits, state } of proceed(this.model, start, { most: this.room() - from, choose: this.chooser(from) })) {
      if (turn !== this.turn) return;
      this.steps.push({ id, shares, logits, line: this.nextLine() });
      this.state = state;
      if (!calm) this.drawLines();
    }
    if (turn === this.turn) this.draw();
  }

  // En qué renglón cae el token que se va a escribir.
  nextLine() {
    const before = this.steps.at(-1);
    return before ? before.line + this.bpe.name(before.id).split("\n").length - 1 : 0;
  }

  // El token que se mira: el que se tocó o, si ninguno, el más dudoso.
  asked() {
    const [chosen] = this.path.value.split(";");
    return chosen ? Math.min(Number(chosen), this.steps.length - 1) : this.doubtful(this.steps);
  }

  doubtful(steps) {
    const sure = steps.map(({ shares }) => shares.reduce((a, b) => Math.max(a, b)));
    return this.steps.indexOf(steps[sure.indexOf(Math.min(...sure))]);
  }

  lookAt(step) {
    this.remember(step, this.imposed());
    this.draw();
  }

  text() {
    return this.bpe.decode(this.steps.map(({ id }) => id));
  }

  drawLines(marked = -1) {
    const lines = this.text().split("\n");
    resize(this.lines, lines.length, (line) => {
      const button = make("button", { type: "button" });
      button.addEventListener("click", () => this.lookAt(this.doubtful(this.steps.filter((step) => step.line === line))));
      return button;
    }).forEach((node, line) => {
      if (node.textContent !== lines[line]) node.textContent = lines[line];
      laboratory.set(node, { "aria-pressed": line === marked });
    });
  }

  draw() {
    this.busy = false;
    this.lines.style.minHeight = "";
    this.pause.textContent = this.ended() ? "Desde el principio" : "Seguir";
    this.said.textContent = this.steps.length ? `${this.kept()} ${this.cached()}` : "Sin acabar.";
    if (!this.steps.length) return;
    const asked = this.asked(), { line } = this.steps[asked], { bpe } = this;
    this.drawLines(line);
    const own = this.steps.flatMap((step, i) => (step.line === line ? [i] : []));
    resize(this.chips, own.length, (i) => {
      const chip = token("button", { type: "button" });
      chip.addEventListener("click", () => this.lookAt(this.steps.findIndex((step) => step.line === this.steps[this.asked()].line) + i));
      return chip;
    }).forEach((chip, i) => {
      const { id, shares } = this.steps[own[i]], text = bpe.name(id);
      write(chip, text === "\n" ? "↵" : text, percent(shares[id]));
      laboratory.set(chip, { "aria-pressed": own[i] === asked });
      chip.classList.toggle("lab-joined", i > 0 && /^[^\s<]/.test(text));
    });
    this.drawBars(this.steps[asked]);
  }

  drawBars({ id, shares, logits }) {
    const options = this.options(), changed = options.temperature && sampling(logits, options);
    const candidates = best(shares, CANDIDATES), shown = candidates.includes(id) ? candidates : [...candidates.slice(1), id];
    resize(this.bars, shown.length, (i) => {
      const node = bar("button");
      node.type = "button";
      node.addEventListener("click", () => this.follow(this.shown[i]));
      return node;
    }).forEach((node, i) => {
      const each = shown[i], text = this.bpe.name(each);
      fill(node, text === "\n" ? "↵" : text, shares[each]);
      if (changed) node.lastElementChild.textContent += changed.has(each) ? ` → ${percent(changed.get(each))}` : " → fuera";
      laboratory.set(node, { "aria-pressed": each === id });
    });
    this.shown = shown;
  }

  // Qué cumple lo escrito, si está entero.
  kept() {
    if (this.steps.at(-1).id !== this.end) return "Sin acabar.";
    const { forgotten, kept } = keeps(this.title.value, this.text());
    const list = forgotten.length ? `Anuncia y no usa: ${forgotten.join(", ")}.` : "Usa todo lo que anuncia.";
    return `${list} ${kept ? `La lista y los pasos nombran lo del título («${kept}»).` : "Lo del título falta en la lista o en los pasos."}`;
  }

  // Cuántos números guarda la caché: una clave y un valor por posición, bloque y par.
  cached() {
    const { num_layers: layers, num_kv_heads: pairs, num_heads: heads } = this.model.config, { length } = this.state[0].keys;
    const numbers = (count) => grouped(2 * layers * count * this.model.width * length);
    return `La caché: ${length} posiciones y ${numbers(pairs)} números; con una clave por cabeza serían ${numbers(heads)}.`;
  }
}

// Como los escribe el curso: un espacio fino entre millares, si hay más de cuatro cifras.
const grouped = (number) => (number < 1e4 ? String(number) : String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f"));

const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const plain = (word) => word.normalize("NFD").replace(/\p{M}/gu, ""); // el plural pone y quita tildes: «calabacín», «calabacines»
const QUANTITY = /^- (?:\d+|Medi[oa]) (?:\p{L}+ de )?|^- /u;

// Lo que la lista anuncia y los pasos no nombran, y lo que del título está en los dos. Mira la primera palabra de cada
// ingrediente; del título, lo que sigue al primer «de» o «con».
export function keeps(title, recipe) {
  const lines = recipe.split("\n"), listed = lines.filter((line) => line.startsWith("- "));
  const list = words(listed.join(" ")), steps = words(lines.filter((line) => /^\d+\. /.test(line)).join(" "));
  const things = listed.map((line) => line.replace(QUANTITY, "").replace(/ al gusto$/, "").toLowerCase());
  const named = (text, word) => text.some((each) => plain(each).startsWith(plain(word).replace(/e?s$/, "")));
  const asked = words(title.split(/ (?:de|con) (.*)/)[1] ?? title).filter((word) => word.length > 2);
  return {
    forgotten: things.filter((thing) => !steps.includes(words(thing)[0])),
    kept: asked.find((word) => named(list, word) && named(steps, word)),
  };
}
