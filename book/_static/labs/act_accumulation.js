"use strict";

// Una posición con tres pasos como mucho: las probabilidades de parada se mueven, y se ve en qué paso
// se detiene y cuánto pesa cada estado. Las de partida son las de la figura
// (book/_figures/universal_transformer.py); una prueba compara los números con los de la biblioteca.
(() => {
  const { make, draw } = laboratory;
  const START = [0.3, 0.4, 0.5];
  const EPSILON = 0.01;
  const LEFT = 66, WIDTH = 290;
  const SVG = "http://www.w3.org/2000/svg";

  // Lo acumulado antes de cada paso, su peso (0 después de la parada) y el paso N.
  function shares(p) {
    let total = 0, N = 0;
    const steps = p.map((value, i) => {
      const before = total;
      if (N) return { before, weight: 0 };
      if (total + value >= 1 - EPSILON || i === p.length - 1) N = i + 1;
      total += value;
      return { before, weight: N ? 1 - before : value };
    });
    return { steps, N, R: steps[N - 1].weight };
  }

  function build(place) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 480 212");
    svg.setAttribute("role", "img");
    const line = LEFT + WIDTH * (1 - EPSILON);
    draw(svg, "line", { x1: line, x2: line, y1: 26, y2: 204, stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": "5 4" });
    draw(svg, "text", { x: line, y: 18, "text-anchor": "middle", "font-size": 15, fill: "currentColor" }, "1 − ε");
    const rows = START.map((_, i) => {
      const y = 36 + 58 * i;
      draw(svg, "text", { x: 4, y: y + 24, "font-size": 15, fill: "currentColor" }, `paso ${i + 1}`);
      const bar = { y, height: 36, stroke: "currentColor", "stroke-width": 1.2 };
      return {
        past: draw(svg, "rect", { ...bar, fill: "#8C8C8C", "fill-opacity": .2 }),
        unused: draw(svg, "rect", { ...bar, fill: "none", "stroke-dasharray": "5 4" }),
        used: draw(svg, "rect", { ...bar, "fill-opacity": .4 }),
        told: draw(svg, "text", { y: y + 24, "text-anchor": "middle", "font-size": 15, fill: "currentColor" }),
      };
    });
    const controls = make("div", { class: "lab-controls" });
    const sliders = START.map((value, i) => {
      const slider = make("input", { type: "range", min: 0.01, max: 1, step: 0.01, value, "aria-label": `probabilidad de parar en el paso ${i + 1}` });
      const told = make("span", { class: "lab-value", "aria-hidden": "true" });
      controls.append(make("label", {}, make("span", {}, "p", make("sub", {}, String(i + 1))), slider, told));
      return { slider, told };
    });
    const said = make("p", { class: "lab-said", role: "status" });

    function update() {
      const p = sliders.map(({ slider }) => Number(slider.value));
      const { steps, N, R } = shares(p);
      sliders.forEach(({ told }, i) => { told.textContent = p[i].toFixed(2); });
      rows.forEach(({ past, unused, used, told }, i) => {
        const { before, weight } = steps[i];
        const reached = i < N;
        const x = LEFT + WIDTH * before;
        const place = (bar, from, width) => {
          bar.setAttribute("x", from.toFixed(1));
          bar.setAttribute("width", Math.max(0, width).toFixed(1));
          bar.setAttribute("visibility", reached && width > 0.5 ? "visible" : "hidden");
        };
        place(past, LEFT, WIDTH * before);
        place(unused, x, Math.min(WIDTH * p[i], 476 - x));
        place(used, x, WIDTH * weight);
        used.setAttribute("fill", i === N - 1 ? "#E69F00" : "#CC79A7");
        told.setAttribute("x", (reached ? x + WIDTH * weight / 2 : LEFT + WIDTH / 2).toFixed(1));
        told.textContent = reached ? weight.toFixed(2) : "no se da";
      });
      const y = steps.reduce((sum, { weight }, i) => sum + weight * (i + 1), 0);
      const numbers = `N = ${N}, resto R = ${R.toFixed(2)}, costo N + R = ${(N + R).toFixed(2)}`;
      said.textContent = `${numbers}. Con estados 1, 2 y 3, la salida es ${y.toFixed(2)} (los números, redondeados).`;
      svg.setAttribute("aria-label", `Pesos: ${steps.map(({ weight }) => weight.toFixed(2)).join(", ")}. ${numbers}.`);
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("act_accumulation", build);
})();
