"use strict";

// Seis palabras, tres números por palabra y los parámetros de la semilla 123: se elige quién pregunta y
// a quién mira, y se ve la cuenta de cada paso. Una prueba compara los números con los de la biblioteca.
(() => {
  const { make, draw, set } = laboratory;
  const WORDS = ["Pica", "el", "ajo", "y", "la", "cebolla"];
  const X = [[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]];
  const W_Q = [[0.2961119, 0.5165623], [0.2516707, 0.6885568], [0.0739725, 0.8665220]];
  const W_K = [[0.1365799, 0.1024790], [0.1840565, 0.7264467], [0.3152539, 0.6871067]];
  const W_V = [[0.0756353, 0.1966382], [0.3164120, 0.4017401], [0.1185683, 0.8273954]];
  const STEPS = [["project", "proyectar"], ["score", "puntuar"], ["normalize", "normalizar"], ["mix", "mezclar"]];
  const TOP = 46, ROW = 28;

  const times = (rows, matrix) => rows.map((x) => matrix[0].map((_, j) => x.reduce((sum, v, i) => sum + v * matrix[i][j], 0)));
  const [Q, K, V] = [W_Q, W_K, W_V].map((matrix) => times(X, matrix));

  function attend(asking) {
    const scores = K.map((k) => k.reduce((sum, v, i) => sum + v * Q[asking][i], 0));
    const powers = scores.map((s) => Math.exp(s / Math.SQRT2));
    const total = powers.reduce((a, b) => a + b);
    const weights = powers.map((power) => power / total);
    const mixed = V[0].map((_, c) => weights.reduce((sum, a, j) => sum + a * V[j][c], 0));
    return { scores, powers, total, weights, mixed };
  }

  const four = (value) => value.toFixed(4);
  const pair = (values) => `(${values.map(four).join(", ")})`;
  const products = (a, b) => a.map((v, i) => `${four(v)} · ${four(b[i])}`).join(" + ");

  function build(place, number) {
    const svg = laboratory.canvas(252);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", "text-anchor": "middle", ...attributes }, content);
    const cell = (x, y, w, fill) => draw(svg, "rect", { x, y, width: w, height: ROW - 3, fill, "fill-opacity": .22, stroke: "currentColor", "stroke-width": .8 });
    for (const [x, title] of [[133, "clave k"], [248, "valor v"], [340, "q · k"], [430, "peso"]]) text({ x, y: 34 }, title);
    const rows = WORDS.map((word, j) => {
      const y = TOP + ROW * j;
      const mark = draw(svg, "rect", { x: 1, y, width: 74, height: ROW - 3, rx: 5, fill: "none", stroke: "currentColor" });
      text({ x: 38, y: y + 18 }, word);
      [...K[j], ...V[j]].forEach((value, c) => {
        const x = 81 + 52 * c + (c > 1 ? 11 : 0);
        cell(x, y, 52, c < 2 ? "#D55E00" : "#009E73");
        text({ x: x + 26, y: y + 18 }, value.toFixed(3));
      });
      const bar = draw(svg, "rect", { x: 378, y, height: ROW - 3, fill: "#CC79A7", "fill-opacity": .55 });
      return { mark, bar, score: text({ x: 340, y: y + 18 }), weight: text({ x: 430, y: y + 18 }) };
    });
    const query = text({ x: 4, y: 14, "text-anchor": "start" });
    const mixed = text({ x: 476, y: 242, "text-anchor": "end", "font-weight": 600 });

    const asks = laboratory.choice(`six-asks-${number}`, "¿Quién pregunta?", WORDS.map((word, i) => [i, word]), 1, "lab-words");
    const looks = make("select", {}, ...WORDS.map((word, j) => make("option", { value: j }, word)));
    const step = make("select", {}, ...STEPS.map(([name, said]) => make("option", { value: name }, said)));
    looks.value = 2;
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls lab-pairs" }, asks.box,
      make("label", {}, "paso", step), make("label", {}, "con la palabra", looks));

    function account(now, i, j, found) {
      const [word, other] = [WORDS[i], WORDS[j]];
      if (now === "project") {
        const parts = [0, 1].map((c) => products(X[i], W_Q.map((row) => row[c])));
        return `q de «${word}»: ${parts[0]} = ${four(Q[i][0])}; ${parts[1]} = ${four(Q[i][1])}.`;
      }
      if (now === "score") return `«${word}» con «${other}»: ${products(Q[i], K[j])} = ${four(found.scores[j])}.`;
      if (now === "normalize") {
        return `e elevado a ${four(found.scores[j])} / √2 es ${four(found.powers[j])}; entre la suma de los seis, ${four(found.total)}, da ${four(found.weights[j])}.`;
      }
      return `De «${other}» toma ${four(found.weights[j])} · ${pair(V[j])} = ${pair(V[j].map((v) => found.weights[j] * v))}.`;
    }

    function update() {
      const [i, j, reached] = [Number(asks.value()), Number(looks.value), STEPS.findIndex(([name]) => name === step.value)];
      const found = attend(i);
      query.textContent = `«${WORDS[i]}» pregunta con q = ${pair(Q[i])}`;
      rows.forEach(({ mark, bar, score, weight }, row) => {
        set(mark, { "stroke-width": row === j ? 3 : 0 });
        score.textContent = reached >= 1 ? four(found.scores[row]) : "";
        weight.textContent = reached >= 2 ? four(found.weights[row]) : "";
        set(bar, { width: reached >= 2 ? (98 * found.weights[row] / Math.max(...found.weights)).toFixed(1) : 0 });
      });
      mixed.textContent = reached >= 3 ? `recoge h = ${pair(found.mixed)}` : "";
      said.textContent = account(step.value, i, j, found);
      set(svg, { "aria-label": `«${WORDS[i]}» pregunta: ` + WORDS.map((word, row) => `${word}, puntuación ${four(found.scores[row])}, peso ${four(found.weights[row])}`).join("; ") });
    }
    step.value = "mix";
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("six_words", build, {
    attend: (i) => { const { scores, weights, mixed } = attend(i); return [...Q[i], ...scores, ...weights, ...mixed]; },
  });
})();
