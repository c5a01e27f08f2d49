import { TunedBert, joined } from "./model/bert.js";
import { softmax } from "./model/layers.js";
import { bar, controls, fill, name, percent, resize, shade, show, token, toolbar } from "./model/parts.js";
import { WordPiece } from "./model/word_piece.js";
import { best } from "./model/writing.js";

// Un texto propio para las cinco cabezas del BERT ajustado. Una prueba compara lo que contestan con la biblioteca.
const { make } = laboratory;
const PAUSE = 250, LONGEST = 10, SHOWN = 4, OPTIONS = 6;
const CATEGORIES = {
  ADJ: "adjetivo", ADP: "preposición", ADV: "adverbio", AUX: "verbo auxiliar", CCONJ: "conjunción", DET: "determinante",
  NOUN: "sustantivo", NUM: "número", PRON: "pronombre", PROPN: "nombre propio", PUNCT: "signo", SCONJ: "conjunción que subordina",
  VERB: "verbo",
};
const TAGS = Object.keys(CATEGORIES);
// De cada tarea, cómo se llama, qué se escribe y con qué empieza: combinaciones que no leyó al ajustarse. Los primeros
// ejemplos son también los del dibujo.
const TASKS = {
  sentence: {
    name: "opinión", asked: ["Tu opinión sobre un plato"],
    examples: [["Nadie en mi casa dijo que estuviera excelente."], ["En la foto parecía delicioso, pero en la mesa resultó soso."]],
  },
  pair: {
    name: "par", asked: ["Unos pasos de una receta", "Los dos que podrían seguir"],
    examples: [
      ["Infusión de fresas. Lleva fresas, agua, canela, jengibre, panela, romero y merengues. Agrega las fresas, apaga el fuego y tapa la olla. Deja reposar la infusión durante 10 minutos.",
        "Cuela la infusión y endúlzala con la panela. Sirve la infusión en tazas y agrega el romero."],
      ["Avena con mango. Lleva mango, hojuelas de avena, leche de almendras, azúcar moreno, cardamomo, coco rallado y pan tostado. Pela el mango y córtalo en cubos. Hierve la leche de almendras con el cardamomo.",
        "Sofríe las cebolletas con el aceite de oliva a fuego bajo. Pica el ajo y agrégalo."],
    ],
  },
  choice: {
    name: "opciones", asked: ["El comienzo de una receta", "Los pasos que podrían seguir, uno por renglón"],
    examples: [
      ["Avena con mango. Lleva mango, hojuelas de avena, leche de almendras, azúcar moreno, cardamomo, coco rallado y pan tostado. Hierve la leche de almendras con el cardamomo. Agrega las hojuelas de avena y cocina a fuego bajo durante 10 minutos. Endulza la avena con el azúcar moreno.",
        "Incorpora los duraznos con cuidado.\nHierve la leche de almendras con el clavo de olor.\nHierve la leche de almendras con el cardamomo.\nIncorpora el mango con cuidado."],
      ["Burritos de pollo. Lleva pollo, tortillas de trigo, arroz, cebolletas, ajo, aceite de oliva, salsa de tomate, sal, orégano, queso fresco y nachos. Lava las cebolletas y córtalas en rodajas finas. Sofríe las cebolletas con el aceite de oliva a fuego bajo. Pica el ajo y agrégalo.",
        "Incorpora el pollo y dora todo durante 8 minutos.\nLava la cebolla y córtala en rodajas finas.\nIncorpora el pato y dora todo durante 8 minutos.\nLava las cebolletas y córtalas en rodajas finas."],
    ],
  },
  question: {
    name: "pregunta", asked: ["Una receta", "Tu pregunta"],
    examples: [
      ["Croquetas de pollo. 2 tazas de leche. 2 tazas de puré de papa. 4 huevos. Corta los puerros en láminas. Corta el pollo en tiras finas. Hornea el pollo durante 4 minutos. Asa los puerros durante 30 minutos.",
        "¿Cuánta leche lleva?"],
      ["Salsa de aguacate. 4 cucharadas de vinagre de manzana. 1 rama de apio. Lava el puerro y córtalo en gajos. Limpia el apio y córtalo en trozos. Cocina el puerro durante 12 minutos. Asa el apio durante 35 minutos.",
        "¿Cómo se corta el puerro?"],
    ],
  },
  words: {
    name: "palabras", asked: ["Tu oración"],
    examples: [["La tía la seca y agrega la trucha."], ["Mi hermana la mezcla con el cerdo."]],
  },
};

export async function build(place, folder) {
  const [config, tensors, vocabulary, settings] = await Promise.all([
    folder.json("config.json"), folder.tensors(), folder.text("vocab.txt"), folder.json("tokenizer_config.json"),
  ]);
  new FiveTasks(new Answers(new TunedBert(config, tensors), new WordPiece(vocabulary, settings))).show(place);
}

// Lo que contesta el modelo a un texto, sin nada de la página.
export class Answers {
  constructor(model, pieces) {
    Object.assign(this, { model, pieces });
    this.frame = { special: (name) => pieces.ids.get(name), most: model.config.max_position_embeddings };
  }

  read(first, second) {
    return joined(this.pieces.encode(first), second === undefined ? null : this.pieces.encode(second), this.frame);
  }

  // Las probabilidades de no y de sí.
  sentence(text) {
    const input = this.read(text);
    return { input, shares: softmax(this.model.score("sentence", input)) };
  }

  pair(first, second) {
    const input = this.read(first, second);
    return { input, shares: softmax(this.model.score("pair", input)) };
  }

  // La probabilidad de cada opción.
  choice(context, options) {
    const inputs = options.map((option) => this.read(context, option));
    return { input: inputs.find(({ whole }) => !whole) ?? inputs[0], shares: softmax(inputs.map((input) => this.model.score("choice", input)[0])) };
  }

  // Los tramos del texto, del más probable al menos, como posiciones de su primer token y del último; y sus tokens.
  question(context, question) {
    const input = this.read(question, context), first = input.segments.indexOf(1), last = input.ids.length - 2;
    const scores = this.model.scoreTokens("question", input), spans = [];
    for (let i = first; i <= last; i++) {
      for (let j = i; j <= Math.min(last, i + LONGEST - 1); j++) spans.push({ from: i - first, to: j - first, score: scores[i][0] + scores[j][1] });
    }
    const shares = softmax(spans.map(({ score }) => score));
    const found = spans.map((span, i) => ({ ...span, share: shares[i] })).sort((a, b) => b.share - a.share);
    return { input, spans: found, tokens: input.ids.slice(first, last + 1).map((id) => this.pieces.vocabulary[id]) };
  }

  // Las palabras que caben y, de cada una, las probabilidades de sus categorías, que da su primer trozo.
  words(text) {
    const words = this.pieces.words(text), input = this.read(text), scores = this.model.scoreTokens("words", input);
    const sizes = words.map((word) => this.pieces.encode(word).length);
    const starts = sizes.map((_, i) => 1 + sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
    const inside = words.filter((_, i) => starts[i] < scores.length - 1);
    return { input, words: inside, shares: inside.map((_, i) => softmax(scores[starts[i]])) };
  }

  // Las palabras con algún carácter que el modelo no conoce; los signos sueltos no cuentan: «¿» nunca lo leyó.
  unknown(...texts) {
    const words = texts.flatMap((text) => this.pieces.words(text)).filter((word) => /[\p{L}\p{N}]/u.test(word));
    return [...new Set(words.filter((word) => this.pieces.tokens(word).includes("[UNK]")))];
  }
}

class FiveTasks {
  constructor(answers) {
    this.answers = answers;
    this.written = Object.fromEntries(Object.entries(TASKS).map(([task, { examples }]) => [task, examples[0]]));
    this.tasks = laboratory.choice("five-tasks", "La tarea", Object.entries(TASKS).map(([task, { name }]) => [task, name]), "sentence", "lab-words");
    this.texts = [3, 2].map((rows) => make("textarea", { rows, maxlength: 500, spellcheck: "false" }));
    this.labels = this.texts.map((text) => make("label", { class: "lab-text" }, make("span", {}), text));
    this.marked = make("input", { type: "hidden" }); // lo que se tocó: una palabra, «3», o un tramo, «3-4»
    this.other = make("button", { type: "button" }, "Otro ejemplo");
    this.title = name("");
    this.chips = toolbar("lab-tokens", "");
    this.spans = make("div", { class: "lab-bars", role: "group", "aria-label": "Las respuestas más probables: toca una para verla en el texto" });
    this.bars = make("ul", { class: "lab-bars" });
    this.said = make("p", { class: "lab-said", role: "status" });
  }

  show(place) {
    this.tasks.box.addEventListener("change", () => this.change());
    for (const text of this.texts) {
      text.addEventListener("input", () => {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.mark(""), PAUSE);
      });
    }
    this.other.addEventListener("click", () => this.next());
    this.put(this.written.sentence);
    show(place, [controls(this.tasks.box, ...this.labels, this.marked, this.other), this.title, this.chips, this.spans, this.bars], this.said);
    this.task = this.tasks.value();
    this.update();
  }

  put(texts) {
    this.texts.forEach((text, i) => {
      text.value = texts[i] ?? "";
      text.rows = Math.max(3 - i, text.value.split("\n").length);
    });
    this.marked.value = "";
  }

  // Al cambiar de tarea, cada una conserva lo que se le escribió.
  change() {
    this.written[this.task] = this.texts.map((text) => text.value);
    this.task = this.tasks.value();
    this.put(this.written[this.task]);
    this.update();
  }

  next() {
    const { examples } = TASKS[this.task], now = examples.findIndex(([first]) => first === this.texts[0].value);
    this.put(examples[(now + 1) % examples.length]);
    this.mark("");
  }

  mark(what) {
    this.marked.value = what;
    this.marked.dispatchEvent(new Event("change", { bubbles: true })); // así queda en la dirección
    this.update();
  }

  toggle(what) {
    this.mark(this.marked.value === what ? "" : what);
  }

  update() {
    const { asked, examples } = TASKS[this.task], [first, second] = this.texts.map((text) => text.value.trim());
    this.labels.forEach((label, i) => {
      label.hidden = i >= asked.length;
      label.firstElementChild.textContent = asked[i] ?? "";
    });
    this.other.hidden = examples.length < 2;
    const ready = first && (asked.length < 2 || second), found = ready ? this[this.task](first, second) : { said: "Escribe un texto en cada casilla." };
    this.draw({ title: "", chips: [], spans: [], bars: [], ...found });
    const unknown = this.answers.unknown(first, ...(asked.length > 1 ? [second] : [])).map((word) => `«${word}»`);
    this.said.textContent = [
      found.said,
      unknown.length && `No conoce ${unknown.join(", ")}.`,
      found.input && !found.input.whole && "No cabe entero: lee solo el comienzo.",
    ].filter(Boolean).join(" ");
  }

  sentence(text) {
    const { input, shares: [no, yes] } = this.answers.sentence(text);
    return { input, title: "Lo que contesta", bars: [["le gustó", yes], ["no le gustó", no]], said: `Dice que ${yes > no ? "le gustó" : "no le gustó"} (${percent(Math.max(yes, no))}).` };
  }

  pair(first, second) {
    const { input, shares: [no, yes] } = this.answers.pair(first, second);
    const said = yes > no ? "que la segunda parte se sigue de esta receta" : "que la segunda parte es de otra receta";
    return { input, title: "Lo que contesta", bars: [["se sigue de esta receta", yes], ["es de otra", no]], said: `Dice ${said} (${percent(Math.max(yes, no))}).` };
  }

  choice(context, written) {
    const options = written.split("\n").map((line) => line.trim()).filter(Boolean).slice(0, OPTIONS);
    if (options.length < 2) return { said: "Escribe al menos dos pasos, uno por renglón." };
    const { input, shares } = this.answers.choice(context, options), [top] = best(shares, 1);
    return { input, title: "Qué paso sigue", bars: options.map((option, i) => [option, shares[i]]), said: `Sigue «${options[top]}» (${percent(shares[top])}).` };
  }

  question(context, question) {
    const { input, spans, tokens } = this.answers.question(context, question), key = ({ from, to }) => `${from}-${to}`;
    const said = ({ from, to }) => tokens.slice(from, to + 1).join(" ").replaceAll(" ##", "");
    const shown = spans.find((span) => key(span) === this.marked.value) ?? spans[0];
    const inside = tokens.map((_, at) => spans.reduce((sum, { from, to, share }) => sum + (from <= at && at <= to ? share : 0), 0));
    const startingAt = (at) => key(spans.find(({ from }) => from === at));
    return {
      input, title: "Cuánto cree que cada palabra es de la respuesta, y las respuestas más probables",
      chipsSaid: "El texto: toca una palabra para ver la mejor respuesta que empieza en ella",
      chips: tokens.map((text, at) => ({ text, weight: inside[at], pressed: shown.from <= at && at <= shown.to, touch: () => this.toggle(startingAt(at)) })),
      spans: spans.slice(0, SHOWN).map((span) => ({ text: said(span), share: span.share, pressed: span === shown, touch: () => this.toggle(key(span)) })),
      said: `Responde «${said(spans[0])}» (${percent(spans[0].share)}).${shown === spans[0] ? "" : ` Lo marcado, «${said(shown)}», tiene ${percent(shown.share)}.`}`,
    };
  }

  words(text) {
    const { input, words, shares } = this.answers.words(text), at = Math.min(Number(this.marked.value), words.length - 1);
    const likely = shares.map((each) => best(each, 1)[0]), told = (tag) => `${TAGS[tag]}, ${CATEGORIES[TAGS[tag]]}`;
    return {
      input, title: "La categoría de cada palabra", chipsSaid: "Las palabras: toca una para ver qué otras categorías pensó",
      chips: words.map((word, i) => ({ text: word, below: TAGS[likely[i]], pressed: i === at, touch: () => this.toggle(String(i)) })),
      bars: best(shares[at], SHOWN).map((tag) => [told(tag), shares[at][tag]]),
      said: `«${words[at]}»: ${CATEGORIES[TAGS[likely[at]]]} (${percent(shares[at][likely[at]])}).`,
    };
  }

  draw({ title, chips, chipsSaid = "", spans, bars }) {
    this.title.textContent = title;
    this.chips.setAttribute("aria-label", chipsSaid);
    this.touched = chips.map(({ touch }) => touch);
    this.chosen = spans.map(({ touch }) => touch);
    resize(this.chips, chips.length, (at) => this.button(token("button", { type: "button" }), () => this.touched[at]())).forEach((chip, at) => {
      const { text, below, weight = 0, pressed } = chips[at];
      shade(chip, weight);
      chip.firstElementChild.textContent = text;
      chip.classList.toggle("lab-joined", text.startsWith("##"));
      if (below) chip.lastElementChild.textContent = below;
      chip.setAttribute("aria-pressed", pressed);
    });
    resize(this.spans, spans.length, (at) => this.button(bar("button"), () => this.chosen[at]())).forEach((node, at) => {
      fill(node, spans[at].text, spans[at].share);
      laboratory.set(node, { type: "button", "aria-pressed": spans[at].pressed });
    });
    resize(this.bars, bars.length, () => bar("li")).forEach((node, at) => fill(node, ...bars[at]));
  }

  button(node, act) {
    node.addEventListener("click", act);
    return node;
  }
}
