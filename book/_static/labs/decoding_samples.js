import { bar, controls, fill, name, percent, resize, show } from "./model/parts.js";
import { Translator } from "./model/translator.js";
import { best, drawn, luck, sampling, write } from "./model/writing.js";

// La temperatura, top-k y top-p sobre las probabilidades de un traductor guardado, y lo que escribe sorteando con ellas.
// Una prueba compara las probabilidades con la biblioteca.
const { make } = laboratory;
const SHOWN = 6, SAMPLES = 5, PAUSE = 250, FIRST = "Ensalada de pulpo con tomate";

export async function build(place, folder) {
  new Samples(await Translator.open(folder)).show(place);
}

class Samples {
  constructor(translator) {
    Object.assign(this, { translator, turn: 0, target: translator.target("decoding-samples-to") });
    this.text = make("input", { type: "text", value: FIRST, maxlength: 160, spellcheck: "false" });
    this.heat = laboratory.slider("T", "T, la temperatura", { min: 0.1, max: 3, step: 0.1, value: 1 });
    this.few = laboratory.slider("top-k", "top-k: cuántos quedan", { min: 1, max: 50, step: 1, value: 50 });
    this.mass = laboratory.slider("top-p", "top-p: cuánta probabilidad basta", { min: 0.05, max: 1, step: 0.05, value: 1 });
    this.seed = make("input", { type: "hidden", value: 1 });
    this.again = make("button", { type: "button" }, "Otra suerte");
    this.place = name("");
    this.bars = make("ul", { class: "lab-bars" });
    this.written = make("ol", { class: "lab-found" });
    this.said = make("p", { class: "lab-said", role: "status" });
  }

  show(place) {
    const { text, heat, few, mass } = this, sliders = [heat, few, mass];
    show(place, [controls(make("label", { class: "lab-text" }, make("span", {}, "Tu oración"), text), this.seed, ...this.target.boxes),
      controls(...sliders.map(({ label }) => label), this.again), this.place, this.bars, name("Cinco traducciones sorteadas"), this.written], this.said);
    text.addEventListener("input", () => this.later(() => this.read()));
    this.target.boxes.forEach((box) => box.addEventListener("input", () => this.read()));
    sliders.forEach(({ slider }) => slider.addEventListener("input", () => { this.draw(); this.later(() => this.sample()); }));
    this.again.addEventListener("click", () => {
      this.seed.value = Number(this.seed.value) + 1;
      this.seed.dispatchEvent(new Event("change", { bubbles: true }));
      this.sample();
    });
    return this.read();
  }

  later(job) {
    clearTimeout(this.timer);
    this.timer = setTimeout(job, PAUSE);
  }

  options() {
    const [temperature, topK, topP] = [this.heat, this.few, this.mass].map(({ slider }) => Number(slider.value));
    return { temperature, topK: topK === 50 ? Infinity : topK, topP };
  }

  // La traducción voraz, para saber en qué token duda más.
  async read() {
    const turn = ++this.turn, { model, most } = this.translator, steps = [];
    const source = this.translator.source(this.text.value, this.target.value());
    for await (const step of write(model, source, { most })) {
      if (turn !== this.turn) return;
      steps.push(step);
    }
    const sure = steps.map(({ shares }) => Math.max(...shares)), at = sure.indexOf(Math.min(...sure));
    Object.assign(this, { source, step: steps[at], before: steps.slice(0, at).map(({ id }) => id) });
    this.draw();
    await this.sample();
  }

  draw() {
    const { bpe } = this.translator, { shares, logits } = this.step, changed = sampling(logits, this.options());
    const before = bpe.decode(this.before);
    this.place.textContent = `Donde más duda: ${before ? `tras «${before}»` : "al comenzar"}`;
    resize(this.bars, SHOWN, () => bar("li")).forEach((node, i) => {
      const id = best(shares, SHOWN)[i], share = changed.get(id) ?? 0;
      fill(node, bpe.name(id), share);
      node.lastElementChild.textContent = `${percent(shares[id])} → ${share ? percent(share) : "fuera"}`;
    });
    laboratory.tell(this.heat, Number(this.heat.slider.value).toFixed(1));
    laboratory.tell(this.few, this.few.slider.value === "50" ? "todos" : this.few.slider.value);
    laboratory.tell(this.mass, Number(this.mass.slider.value).toFixed(2));
    this.left = changed.size;
  }

  // Cinco traducciones; con la misma suerte y otros mandos, los números sorteados son los mismos.
  async sample() {
    const turn = ++this.turn, { model, bpe, most } = this.translator, found = [];
    for (let i = 0; i < SAMPLES; i++) {
      const next = luck(1000 * Number(this.seed.value) + i), ids = [];
      const choose = (logits) => drawn(sampling(logits, this.options()), next());
      for await (const { id } of write(model, this.source, { most, choose })) {
        if (turn !== this.turn) return;
        ids.push(id);
      }
      found.push(bpe.decode(ids));
    }
    this.written.replaceChildren(...found.map((text) => make("li", {}, text.trim() || "(nada)")));
    const different = new Set(found).size, { topK, topP } = this.options();
    const left = this.left === 1 ? "queda 1 candidato" : `quedan ${this.left} candidatos`;
    const cut = topK < Infinity || topP < 1 ? `Donde más duda ${left}. ` : "";
    this.said.textContent = `${cut}De ${SAMPLES} sorteos ${different === 1 ? "sale una sola traducción" : `salen ${different} traducciones distintas`}.`;
  }
}
