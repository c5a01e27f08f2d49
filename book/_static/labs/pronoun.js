"use strict";

// «Pica el ajo y la cebolla, y sofríela»: los pesos con los que el pronombre mira cada palabra,
// calculados con la fórmula del capítulo, y la curva de cada peso de β = 0 a β = 6. Las palabras y sus
// vectores son los de la figura (book/_figures/attention.py), y una prueba compara los pesos con los
// de la biblioteca.
(() => {
  const { make, draw } = laboratory;
  // acción, cosa, género (1 femenino, −1 masculino)
  const WORDS = [["Pica", [2, 0, 0]], ["el", [0, 0, -1]], ["ajo", [0, 1, -1]], ["y", [0, 0, 0]], ["la", [0, 0, 1]],
    ["cebolla,", [0, 1, 1]], ["y", [0, 0, 0]], ["sofríe", [2, 0, 0]]];
  const QUERIES = { la: [0, 2, 1], lo: [0, 2, -1] };
  const CENTERS = [27, 82, 129, 174, 214, 282, 348, 408];
  // La curva: de β = 0 a β = MOST, y del peso 0 al 1.
  const MOST = 6, LEFT = 40, RIGHT = 390, FLOOR = 268, ROOF = 190;
  const across = (beta) => LEFT + (RIGHT - LEFT) * beta / MOST;
  const up = (weight) => FLOOR - (FLOOR - ROOF) * weight;

  function attention(query, beta) {
    const scores = WORDS.map(([, key]) => beta * key.reduce((sum, k, i) => sum + k * query[i], 0));
    const top = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - top));
    const total = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / total);
  }

  function build(place, number) {
    const svg = laboratory.canvas(298);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", ...attributes }, content);
    const beams = CENTERS.map((x) => draw(svg, "path", { d: `M442 131 L${x} 58`, stroke: "#CC79A7", fill: "none" }));
    const shares = CENTERS.map((x) => text({ x, y: 48, "text-anchor": "middle" }));
    WORDS.forEach(([word], i) => text({ x: CENTERS[i], y: 24, "text-anchor": "middle", "font-size": 17 }, word));
    draw(svg, "rect", { x: 412, y: 132, width: 60, height: 38, rx: 12, fill: "#0072B2", "fill-opacity": .22, stroke: "currentColor", "stroke-width": 1.4 });
    const pronoun = text({ x: 442, y: 157, "text-anchor": "middle", "font-size": 17, "font-weight": 600 });

    draw(svg, "path", { d: `M${LEFT} ${ROOF} V${FLOOR} H${RIGHT}`, stroke: "currentColor", fill: "none" });
    for (const weight of [0, 0.5, 1]) text({ x: LEFT - 6, y: up(weight) + 5, "text-anchor": "end" }, weight);
    for (const beta of [0, 2, 4, 6]) text({ x: across(beta), y: 286, "text-anchor": "middle" }, beta ? beta : "β = 0");
    const now = draw(svg, "line", { y1: ROOF - 8, y2: FLOOR, stroke: "currentColor", "stroke-dasharray": "4 3" });
    const curves = CENTERS.map(() => draw(svg, "path", { stroke: "#CC79A7", fill: "none" }));
    const dots = CENTERS.map(() => draw(svg, "circle", { r: 4, fill: "#CC79A7", stroke: "currentColor" }));
    const winner = text({ x: RIGHT + 6, y: up(1) + 5 });
    text({ x: RIGHT + 6, y: up(0) + 3 }, "las demás");

    const ending = laboratory.choice(`pronoun-${number}`, "¿Cómo termina la oración?", Object.keys(QUERIES).map((end) => [end, `sofríe${end}`]), "la");
    const beta = laboratory.slider("β", "β, cuánto se concentra la mirada", { min: 0, max: MOST, step: 0.1, value: 1 });
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls" }, ending.box, beta.label);

    function update() {
      const [end, b] = [ending.value(), Number(beta.slider.value)];
      const weights = attention(QUERIES[end], b);
      const steps = Array.from({ length: 61 }, (_, i) => [i / 10, attention(QUERIES[end], i / 10)]);
      const best = steps[60][1].indexOf(Math.max(...steps[60][1]));
      weights.forEach((weight, i) => {
        beams[i].setAttribute("stroke-width", (0.6 + 17 * weight).toFixed(2));
        beams[i].setAttribute("opacity", (0.35 + 0.65 * weight).toFixed(2));
        shares[i].textContent = weight.toFixed(2);
        curves[i].setAttribute("d", "M" + steps.map(([at, all]) => `${across(at).toFixed(1)} ${up(all[i]).toFixed(1)}`).join(" L"));
        curves[i].setAttribute("stroke-width", i === best ? 3 : 1.5);
        dots[i].setAttribute("cx", across(b));
        dots[i].setAttribute("cy", up(weight));
      });
      for (const side of ["x1", "x2"]) now.setAttribute(side, across(b));
      laboratory.tell(beta, b.toFixed(1));
      pronoun.textContent = end;
      const name = WORDS[best][0].replace(",", "");
      winner.textContent = name;
      svg.setAttribute("aria-label", `Pesos de «${end}»: ` + WORDS.map(([word], i) => `${word.replace(",", "")} ${weights[i].toFixed(2)}`).join("; "));
      said.textContent = b === 0
        ? "Con β = 0, a todas las palabras por igual."
        : `«${end}» mira sobre todo a «${name}»: ${Math.round(100 * weights[best])} %.` + (weights[best] > 0.995 ? " Ya es, casi, todo para una." : "");
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("pronoun", build, { attention: (end, beta) => attention(QUERIES[end], beta) });
})();
