"use strict";

// Una consulta y una clave de dos números que giran según su posición, con θ = 1, y su producto escalar,
// que solo nota la distancia. Son las del capítulo; una prueba compara los giros con los de la biblioteca.
(() => {
  const { make, draw, set } = laboratory;
  const QUERY = [1, 0.5], KEY = [0.3, -1];
  const HUB = [104, 112], RADIUS = 92;
  const LEFT = 262, RIGHT = 462, MIDDLE = 104, TALL = 80, FARTHEST = 12;
  const across = (k) => (LEFT + RIGHT) / 2 + (RIGHT - LEFT) / 2 * k / FARTHEST;
  const up = (product) => MIDDLE - TALL * product / 1.2;

  const turn = ([a, b], angle) => [a * Math.cos(angle) - b * Math.sin(angle), b * Math.cos(angle) + a * Math.sin(angle)];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
  const product = (m, n) => dot(turn(QUERY, m), turn(KEY, n));

  function build(place) {
    const svg = laboratory.canvas(226);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", "text-anchor": "middle", ...attributes }, content);
    draw(svg, "circle", { cx: HUB[0], cy: HUB[1], r: RADIUS, fill: "none", stroke: "currentColor" });
    const arc = draw(svg, "path", { fill: "none", stroke: "currentColor", "stroke-dasharray": "3 3" });
    const hand = (stroke) => draw(svg, "line", { x1: HUB[0], y1: HUB[1], stroke, "stroke-width": 5, "stroke-linecap": "round" });
    const hands = [hand("#0072B2"), hand("#D55E00")];
    const names = ["q", "k"].map((name) => text({ "font-style": "italic", "font-size": 18 }, name));
    draw(svg, "path", { d: `M${LEFT} ${MIDDLE - TALL - 6} V${MIDDLE + TALL + 6} M${LEFT} ${MIDDLE} H${RIGHT}`, stroke: "currentColor", fill: "none" });
    for (const value of [-1, 0, 1]) text({ x: LEFT - 6, y: up(value) + 5, "text-anchor": "end" }, laboratory.decimal(value, 0));
    text({ x: (LEFT + RIGHT) / 2, y: 16 }, "producto escalar");
    for (const k of [-10, 0, 10]) text({ x: across(k), y: 204 }, laboratory.decimal(k, 0));
    text({ x: (LEFT + RIGHT) / 2, y: 222 }, "distancia m − n");
    const ks = Array.from({ length: 16 * FARTHEST + 1 }, (_, i) => i / 8 - FARTHEST);
    draw(svg, "path", { d: "M" + ks.map((k) => `${across(k).toFixed(1)} ${up(product(k, 0)).toFixed(1)}`).join(" L"), stroke: "currentColor", "stroke-width": 1.8, fill: "none" });
    const mark = draw(svg, "circle", { r: 6, fill: "#E69F00", stroke: "currentColor" });

    const asking = laboratory.slider("m", "m, la posición de la consulta", { min: 0, max: FARTHEST, step: 1, value: 3 });
    const asked = laboratory.slider("n", "n, la posición de la clave", { min: 0, max: FARTHEST, step: 1, value: 1 });
    const both = make("button", { type: "button" }, "Avanzar las dos");
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls lab-pairs" }, asking.label, asked.label, both);

    const ended = () => Math.max(...[asking, asked].map(({ slider }) => Number(slider.value))) === FARTHEST;

    function update() {
      const [m, n] = [asking, asked].map(({ slider }) => Number(slider.value));
      const turned = [turn(QUERY, m), turn(KEY, n)];
      const angles = turned.map(([x, y]) => Math.atan2(y, x));
      turned.forEach(([x, y], i) => {
        const scale = (RADIUS - 26) / Math.hypot(x, y);
        set(hands[i], { x2: HUB[0] + scale * x, y2: HUB[1] - scale * y });
        set(names[i], { x: HUB[0] + (RADIUS - 12) * Math.cos(angles[i]), y: HUB[1] - (RADIUS - 12) * Math.sin(angles[i]) + 6 });
      });
      const opening = ((angles[1] - angles[0]) % (2 * Math.PI) + 3 * Math.PI) % (2 * Math.PI) - Math.PI;
      const points = Array.from({ length: 33 }, (_, i) => angles[0] + opening * i / 32);
      set(arc, { d: "M" + points.map((angle) => `${(HUB[0] + 34 * Math.cos(angle)).toFixed(1)} ${(HUB[1] - 34 * Math.sin(angle)).toFixed(1)}`).join(" L") });
      const found = product(m, n);
      set(mark, { cx: across(m - n), cy: up(found) });
      laboratory.tell(asking, String(m));
      laboratory.tell(asked, String(n));
      set(both, { "aria-disabled": ended() });
      const degrees = Math.round(Math.abs(opening) * 180 / Math.PI);
      said.textContent = `Posiciones ${m} y ${n}: entre las agujas hay ${degrees}°, y el producto escalar es ${laboratory.decimal(found, 4)}.`;
      set(svg, { "aria-label": said.textContent });
    }
    controls.addEventListener("input", update);
    both.addEventListener("click", () => {
      if (ended()) return;
      for (const { slider } of [asking, asked]) slider.value = Number(slider.value) + 1;
      asked.slider.dispatchEvent(new Event("change", { bubbles: true }));
      update();
    });
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("palm_clocks", build, { query: (m) => turn(QUERY, m), key: (n) => turn(KEY, n), product });
})();
