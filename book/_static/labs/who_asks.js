"use strict";

// «Pica el ajo y la cebolla, y sofríela»: se elige una palabra y se ve a quién mira. Las palabras y
// los parámetros son los de la figura (book/_figures/self_attention.py), y una prueba compara los
// pesos con los de la biblioteca.
(() => {
  const { make, draw } = laboratory;
  // acción, cosa, género (1 femenino, −1 masculino), artículo, pronombre
  const WORDS = [["Pica", [1, 0, 0, 0, 0]], ["el", [0, 0, -1, 1, 0]], ["ajo", [0, 1, -1, 0, 0]], ["y", [0, 0, 0, 0, 0]],
    ["la", [0, 0, 1, 1, 0]], ["cebolla", [0, 1, 1, 0, 0]], ["y", [0, 0, 0, 0, 0]], ["sofríe", [1, 0, 0, 0, 0]], ["-la", [0, 0, 1, 0, 1]]];
  const ASKS = [[0, 2, 0], [2, 0, 0], [0, 0, 1], [0, 2, 0], [0, 2, 0]];
  const OFFERS = [[2, 0, 0], [0, 2, 0], [0, 0, 2], [0, 0, 0], [0, 0, 0]];
  const CENTERS = [26, 76, 120, 160, 196, 262, 324, 380, 448];
  const SVG = "http://www.w3.org/2000/svg";

  const times = (x, matrix) => matrix[0].map((_, j) => x.reduce((sum, value, i) => sum + value * matrix[i][j], 0));

  function attention(asking) {
    const query = times(WORDS[asking][1], ASKS);
    const scores = WORDS.map(([, x]) => times(x, OFFERS).reduce((sum, k, i) => sum + k * query[i], 0) / Math.sqrt(3));
    const powers = scores.map(Math.exp);
    const total = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / total);
  }

  function build(place, number) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 480 196");
    svg.setAttribute("role", "img");
    const beams = CENTERS.map(() => draw(svg, "path", { stroke: "#CC79A7", fill: "none" }));
    const shares = CENTERS.map((x) => draw(svg, "text", { x, y: 46, "text-anchor": "middle", "font-size": 14, fill: "currentColor" }));
    WORDS.forEach(([word], i) => draw(svg, "text", { x: CENTERS[i], y: 22, "text-anchor": "middle", "font-size": 17, fill: "currentColor" }, word));
    const box = draw(svg, "rect", { y: 150, width: 80, height: 38, rx: 12, fill: "#0072B2", "fill-opacity": .22, stroke: "currentColor", "stroke-width": 1.4 });
    const name = draw(svg, "text", { y: 175, "text-anchor": "middle", "font-size": 17, "font-weight": 600, fill: "currentColor" });

    const choice = make("fieldset", { class: "lab-words" }, make("legend", { class: "visually-hidden" }, "¿Qué palabra pregunta?"));
    WORDS.forEach(([word], i) => {
      const radio = make("input", { type: "radio", name: `asking-${number}`, value: i });
      radio.checked = i === WORDS.length - 1;
      choice.append(make("label", {}, radio, make("span", {}, word)));
    });
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls" }, choice);

    function update() {
      const asking = Number(choice.querySelector(":checked").value);
      const weights = attention(asking);
      const at = Math.min(Math.max(CENTERS[asking], 44), 436);
      weights.forEach((weight, i) => {
        beams[i].setAttribute("d", `M${at} 149 L${CENTERS[i]} 56`);
        beams[i].setAttribute("stroke-width", (0.6 + 17 * weight).toFixed(2));
        beams[i].setAttribute("opacity", (0.35 + 0.65 * weight).toFixed(2));
        shares[i].textContent = weight.toFixed(2);
      });
      box.setAttribute("x", at - 40);
      name.setAttribute("x", at);
      name.textContent = WORDS[asking][0];
      svg.setAttribute("aria-label", `Pesos de «${WORDS[asking][0]}»: ` + WORDS.map(([word], i) => `${word} ${weights[i].toFixed(2)}`).join("; "));
      const most = Math.max(...weights);
      const seen = [...new Set(WORDS.filter((_, i) => weights[i] > most - 1e-9).map(([word]) => `«${word}»`))];
      said.textContent = most < 0.2
        ? `«${WORDS[asking][0]}» no busca nada: mira a todas por igual.`
        : `«${WORDS[asking][0]}» mira sobre todo a ${seen.join(" y ")}.`;
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("who_asks", build);
})();
