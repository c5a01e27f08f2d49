"use strict";

// Multiplicar, escalar, ocultar, normalizar y mezclar, con las matrices del capítulo: se elige qué
// claves se ocultan y si se escala. Una prueba compara pesos y salidas con los de la biblioteca.
(() => {
  const { make, draw, set } = laboratory;
  const Q = [[2, 2, 0, 0], [0, 2, 0, 0], [2, 0, 2, 0]];
  const K = [[2, 0, 2, 0], [0, 1, 1, 0], [2, 2, 0, 0], [1, 1, 1, 1]];
  const V = [[1, 0], [0, 1], [1, 1], [9, 9]];

  function attend(visible, scaled) {
    const scores = Q.map((q) => K.map((k) => q.reduce((sum, v, i) => sum + v * k[i], 0) / (scaled ? 2 : 1)));
    const weights = scores.map((row) => {
      const powers = row.map((s, j) => (visible[j] ? Math.exp(s) : 0));
      const total = powers.reduce((a, b) => a + b);
      return powers.map((power) => (total ? power / total : 0));
    });
    return { scores, weights, mixed: weights.map((row) => V[0].map((_, c) => row.reduce((sum, a, j) => sum + a * V[j][c], 0))) };
  }

  function build(place) {
    const WORDS = ["Pela", "la", "papa", "relleno"];
    const svg = laboratory.canvas(164);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", "text-anchor": "middle", ...attributes }, content);
    const LEFTS = [46, 216, 386], WIDE = [40, 40, 46], COLORS = ["#8C8C8C", "#CC79A7", "#E69F00"];
    for (const [x, title] of [[126, "puntuación"], [296, "peso"], [432, "salida"]]) text({ x, y: 16 }, title);
    const grids = LEFTS.map((left, g) => Q.map((_, i) => Array.from({ length: g < 2 ? 4 : 2 }, (_, j) => {
      const [x, y] = [left + WIDE[g] * j, 50 + 36 * i];
      const box = draw(svg, "rect", { x, y, width: WIDE[g], height: 32, fill: COLORS[g], stroke: "currentColor", "stroke-width": .8 });
      return { box, told: text({ x: x + WIDE[g] / 2, y: y + 21 }) };
    })));
    WORDS.forEach((word, j) => {
      for (const left of LEFTS.slice(0, 2)) text({ x: left + WIDE[0] * (j + .5), y: 40 }, word.length > 5 ? "rell." : word);
      if (j < 3) text({ x: 40, y: 71 + 36 * j, "text-anchor": "end" }, word);
    });

    const box = make("fieldset", { class: "lab-words" }, make("legend", { class: "visually-hidden" }, "¿Qué claves se ven?"));
    const seen = WORDS.map((word, j) => {
      const check = make("input", { type: "checkbox" });
      check.checked = j < 3;
      box.append(make("label", {}, check, make("span", {}, `ver «${word}»`)));
      return check;
    });
    const scale = make("input", { type: "checkbox" });
    scale.checked = true;
    box.append(make("label", {}, scale, make("span", {}, "escalar")));
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls" }, box);

    function update() {
      const visible = seen.map((check) => check.checked);
      const { scores, weights, mixed } = attend(visible, scale.checked);
      [scores, weights, mixed].forEach((matrix, g) => matrix.forEach((row, i) => row.forEach((value, j) => {
        const { box, told } = grids[g][i][j];
        const hidden = g < 2 && !visible[j];
        told.textContent = hidden ? "—" : g ? value.toFixed(2) : String(value);
        set(box, { fill: hidden ? "#8C8C8C" : COLORS[g], "fill-opacity": hidden ? .45 : g === 1 ? .06 + .5 * value : .15, "stroke-dasharray": hidden ? "3 3" : "none" });
      })));
      const foreign = visible[3] ? " El 9 del relleno entra en las salidas." : "";
      said.textContent = visible.some(Boolean)
        ? `«Pela» recibe (${mixed[0].map((v) => v.toFixed(2)).join(", ")}).${foreign}`
        : "Con todo oculto no hay nada que mezclar: la salida es 0.";
      set(svg, { "aria-label": "Pesos de «Pela»: " + WORDS.map((word, j) => `${word} ${weights[0][j].toFixed(2)}`).join("; ") });
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("encoder_five_operations", build, {
    attend: (visible, scaled) => { const { weights, mixed } = attend(visible, scaled); return [weights.flat(), mixed.flat()].flat(); },
  });
})();
