import { bar, controls, fill, Heads, name, percent, resize, shade, show, token, toolbar, write } from "./model/parts.js";
import { Translator } from "./model/translator.js";
import { beam, best, write as writing } from "./model/writing.js";

// Una oración propia, traducida token a token por el traductor guardado: en cada paso, sus candidatos y lo que mira cada
// cabeza. Una prueba compara lo que escribe con la biblioteca.
const { make } = laboratory;
const CANDIDATES = 5, BEAM = 3, PAUSE = 250, LOOK = [1, 3];
// Con qué oración empieza cada traductor, y a qué idioma la lleva si va a varios.
const FIRST = {
  translator: ["Lava los pimientos rojos y córtalos en tiras."],
  messages: ["Are you sure you want to delete this account?", "<es>"],
};

export async function build(place, folder) {
  new Steps(await Translator.open(folder), place.dataset).show(place);
}

class Steps {
  constructor(translator, { laboratory: group, model: named }) {
    const { model, bpe } = translator, [first, to] = FIRST[named] ?? [""];
    Object.assign(this, { translator, model, bpe, turn: 0, steps: [], target: translator.target(`${group}-to`, to) });
    this.heads = new Heads(group, model.config.num_layers, model.config.num_heads, LOOK);
    this.text = make("input", { type: "text", value: first, maxlength: 160, spellcheck: "false" });
    this.path = make("input", { type: "hidden" }); // el paso que se mira y los tokens impuestos: «7;12,40,7»
    this.greedy = make("button", { type: "button" }, "Voraz");
    this.beam = make("button", { type: "button" }, `Haz de ${BEAM}`);
    this.written = toolbar("lab-tokens", "Lo que escribe: toca un token para ver su paso");
    this.bars = make("div", { class: "lab-bars", role: "group", "aria-label": "Los candidatos del paso: toca otro para seguir con él" });
    this.read = make("div", { class: "lab-tokens", role: "group", "aria-label": "Lo que lee, con el peso de cada token" });
    this.found = make("ol", { class: "lab-found" });
    this.said = make("p", { class: "lab-said", role: "status" });
  }

  show(place) {
    const text = make("label", { class: "lab-text" }, make("span", {}, "Tu oración"), this.text);
    show(place, [controls(text, this.path, ...this.target.boxes, this.greedy, this.beam), this.found, name("Lo que escribe"), this.written,
      name("Los candidatos del token marcado"), this.bars, name("A quién mira cada cabeza al escribirlo"), this.heads.box, this.read], this.said);
    this.text.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.choose("", []), PAUSE);
    });
    this.target.boxes.forEach((box) => box.addEventListener("input", () => this.choose("", [])));
    this.heads.box.addEventListener("input", () => this.draw());
    this.greedy.addEventListener("click", () => this.choose("", []));
    this.beam.addEventListener("click", () => this.search());
    this.translate();
  }

  forced() {
    return (this.path.value.split(";")[1] ?? "").split(",").filter(Boolean).map(Number);
  }

  // El paso que se mira: el que se tocó o, si ninguno, el más dudoso.
  asked() {
    const [chosen] = this.path.value.split(";");
    const sure = this.steps.map(({ candidates }) => candidates[0][1]);
    return chosen ? Math.min(Number(chosen), this.steps.length - 1) : sure.indexOf(Math.min(...sure));
  }

  remember(asked, forced) {
    this.path.value = `${asked};${forced.join(",")}`;
    this.path.dispatchEvent(new Event("change", { bubbles: true }));
  }

  choose(asked, forced) {
    this.remember(asked, forced);
    this.found.replaceChildren();
    return this.translate();
  }

  source() {
    return this.translator.source(this.text.value, this.target.value());
  }

  // Escribe desde el comienzo, y se ve crecer; si mientras tanto cambia lo que se pide, se deja.
  async translate() {
    const turn = ++this.turn, steps = [], source = this.source();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const options = { forced: this.forced(), most: this.translator.most };
    for await (const { id, shares, cross } of writing(this.model, source, options)) {
      if (turn !== this.turn) return;
      steps.push({ id, cross, candidates: best(shares, CANDIDATES).map((each) => [each, shares[each]]), share: shares[id] });
      if (!calm) this.drawWritten(steps);
    }
    if (turn !== this.turn) return;
    Object.assign(this, { steps, sourceIds: source });
    this.draw();
  }

  async search() {
    const turn = ++this.turn;
    this.said.textContent = "Buscando…";
    const hypotheses = await beam(this.model, this.source(), { size: BEAM, most: this.translator.most });
    if (turn !== this.turn) return;
    this.found.replaceChildren(...hypotheses.map(({ ids, score }) => {
      const button = make("button", { type: "button" }, `${this.bpe.decode(ids)} (${laboratory.decimal(score)})`);
      button.addEventListener("click", () => { this.remember("", ids); this.translate(); });
      return make("li", {}, button);
    }));
    this.said.textContent = "Las tres del haz, con su puntuación: toca una para seguirla paso a paso.";
  }

  draw() {
    const asked = this.asked(), { candidates, cross, id, share } = this.steps[asked];
    this.drawWritten(this.steps, asked);
    resize(this.bars, candidates.length, (i) => {
      const node = bar("button");
      node.type = "button";
      node.addEventListener("click", () => this.follow(i));
      return node;
    }).forEach((node, i) => {
      fill(node, this.bpe.name(candidates[i][0]), candidates[i][1]);
      laboratory.set(node, { "aria-pressed": candidates[i][0] === id });
    });
    const names = this.sourceIds.map((each) => this.bpe.name(each)), seen = this.heads.choose(cross, names);
    resize(this.read, names.length, () => token("span")).forEach((node, i) => { write(node, names[i], ""); shade(node, seen[i]); });
    const most = seen.indexOf(Math.max(...seen)), text = this.bpe.decode(this.steps.map((step) => step.id));
    this.said.textContent = `«${text}» Al escribir «${this.bpe.name(id).trim()}» (${percent(share)}), ${this.heads.said().replace(/^L/, "l")} mira sobre todo a «${names[most].trim()}» (${seen[most].toFixed(2)}).`;
  }

  // Otro candidato en el paso que se mira: lo anterior queda como estaba, y se sigue desde ahí.
  follow(i) {
    const asked = this.asked(), kept = this.steps.slice(0, asked).map(({ id }) => id);
    this.choose(asked, [...kept, this.steps[asked].candidates[i][0]]);
  }

  drawWritten(steps, asked = -1) {
    resize(this.written, steps.length, (i) => {
      const chip = token("button", { type: "button" });
      chip.addEventListener("click", () => { this.remember(i, this.forced()); this.draw(); });
      return chip;
    }).forEach((chip, i) => {
      write(chip, this.bpe.name(steps[i].id), percent(steps[i].share));
      laboratory.set(chip, { "aria-pressed": i === asked });
      chip.classList.toggle("lab-joined", i > 0 && !this.bpe.name(steps[i].id).startsWith(" "));
    });
  }
}
