"use strict";

// «Pica el ajo y la cebolla, y sofríela»: los pesos con los que el pronombre mira cada palabra,
// calculados con la fórmula del capítulo. Las palabras y sus vectores son los de la figura
// (book/_figures/attention.py), y una prueba compara los pesos con los de la biblioteca.
(() => {
  const { make, draw } = laboratory;
  // acción, cosa, género (1 femenino, −1 masculino)
  const WORDS = [["Pica", [2, 0, 0]], ["el", [0, 0, -1]], ["ajo", [0, 1, -1]], ["y", [0, 0, 0]], ["la", [0, 0, 1]],
    ["cebolla,", [0, 1, 1]], ["y", [0, 0, 0]], ["sofríe", [2, 0, 0]]];
  const QUERIES = { la: [0, 2, 1], lo: [0, 2, -1] };
  const CENTERS = [27, 82, 129, 174, 214, 282, 348, 408];
  const SVG = "http://www.w3.org/2000/svg";

  function attention(query, beta) {
    const scores = WORDS.map(([, key]) => beta * key.reduce((sum, k, i) => sum + k * query[i], 0));
    const top = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - top));
    const total = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / total);
  }

  function build(place, number) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 480 218");
    svg.setAttribute("role", "img");
    const beams = CENTERS.map((x) => draw(svg, "path", { d: `M442 167 L${x} 62`, stroke: "#CC79A7", fill: "none" }));
    const shares = CENTERS.map((x) => draw(svg, "text", { x, y: 52, "text-anchor": "middle", "font-size": 15, fill: "currentColor" }));
    WORDS.forEach(([word], i) => draw(svg, "text", { x: CENTERS[i], y: 27, "text-anchor": "middle", "font-size": 17, fill: "currentColor" }, word));
    draw(svg, "rect", { x: 412, y: 168, width: 60, height: 38, rx: 12, fill: "#0072B2", "fill-opacity": .22, stroke: "currentColor", "stroke-width": 1.4 });
    const pronoun = draw(svg, "text", { x: 442, y: 193, "text-anchor": "middle", "font-size": 17, "font-weight": 600, fill: "currentColor" });

    const choice = make("fieldset", {}, make("legend", { class: "visually-hidden" }, "¿Cómo termina la oración?"));
    for (const ending of Object.keys(QUERIES)) {
      const radio = make("input", { type: "radio", name: `pronoun-${number}`, value: ending });
      radio.checked = ending === "la";
      choice.append(make("label", {}, radio, make("span", {}, "sofríe", make("strong", {}, ending))));
    }
    const slider = make("input", { type: "range", min: 0, max: 6, step: 0.1, value: 1, "aria-label": "β, cuánto se concentra la mirada" });
    const told = make("span", { class: "lab-value", "aria-hidden": "true" });
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls" }, choice, make("label", {}, "β", slider, told));

    function update() {
      const ending = choice.querySelector(":checked").value;
      const weights = attention(QUERIES[ending], Number(slider.value));
      weights.forEach((weight, i) => {
        beams[i].setAttribute("stroke-width", (0.6 + 17 * weight).toFixed(2));
        beams[i].setAttribute("opacity", (0.35 + 0.65 * weight).toFixed(2));
        shares[i].textContent = weight.toFixed(2);
      });
      told.textContent = Number(slider.value).toFixed(1);
      slider.setAttribute("aria-valuetext", `β = ${told.textContent}`);
      pronoun.textContent = ending;
      svg.setAttribute("aria-label", `Pesos de «${ending}»: ` + WORDS.map(([word], i) => `${word.replace(",", "")} ${weights[i].toFixed(2)}`).join("; "));
      const best = weights.indexOf(Math.max(...weights));
      said.textContent = Number(slider.value) === 0
        ? "Con β = 0, a todas las palabras por igual."
        : `«${ending}» mira sobre todo a «${WORDS[best][0].replace(",", "")}»: ${Math.round(100 * weights[best])} %.`;
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("pronoun", build);
})();
