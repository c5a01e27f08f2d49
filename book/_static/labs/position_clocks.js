"use strict";

// Los ocho relojes de la codificación con d = 16, en una posición y en otra, y cuánto se parecen las
// dos codificaciones según la distancia. Una prueba compara los vectores y sus productos con los de la
// biblioteca.
(() => {
  const { make, draw, set } = laboratory;
  const WIDTH = 16;
  const FARTHEST = 20;
  const CENTERS = Array.from({ length: WIDTH / 2 }, (_, i) => 34 + 59 * i);
  const RADIUS = 25, HUB = 60;
  // La curva: de la distancia −FARTHEST a FARTHEST, y del producto 0 al d/2.
  const LEFT = 62, RIGHT = 462, FLOOR = 262, ROOF = 158;
  const across = (k) => (LEFT + RIGHT) / 2 + (RIGHT - LEFT) / 2 * k / FARTHEST;
  const up = (product) => FLOOR - (FLOOR - ROOF) * product / (WIDTH / 2);

  const pace = (i, d) => 10000 ** (-2 * i / d);
  const encoding = (p, d) => Array.from({ length: d / 2 }, (_, i) => [Math.sin(p * pace(i, d)), Math.cos(p * pace(i, d))]).flat();

  function product(p, q, d) {
    const [a, b] = [encoding(p, d), encoding(q, d)];
    return a.reduce((sum, value, i) => sum + value * b[i], 0);
  }

  function build(place) {
    const svg = laboratory.canvas(302);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", ...attributes }, content);
    const clocks = CENTERS.map((x, i) => {
      draw(svg, "circle", { cx: x, cy: HUB, r: RADIUS, fill: "#56B4E9", "fill-opacity": .15, stroke: "currentColor" });
      text({ x, y: 106, "text-anchor": "middle" }, String(Math.round(2 * Math.PI / pace(i, WIDTH))).replace(/(\d\d)(\d{3})$/, "$1 $2"));
      const hand = { x1: x, y1: HUB, "stroke-linecap": "round" };
      return [
        draw(svg, "line", { ...hand, stroke: "currentColor", "stroke-width": 3.5 }),
        draw(svg, "line", { ...hand, stroke: "#E69F00", "stroke-width": 3.5, "stroke-dasharray": "5 5" }),
      ];
    });
    text({ x: 240, y: 20, "text-anchor": "middle" }, "aguja llena: p; de trazos, en naranja: p + k");
    text({ x: 240, y: 128, "text-anchor": "middle" }, "posiciones que dura una vuelta");
    draw(svg, "path", { d: `M${LEFT} ${ROOF} V${FLOOR} H${RIGHT}`, stroke: "currentColor", fill: "none" });
    for (const value of [0, 4, 8]) text({ x: LEFT - 6, y: up(value) + 5, "text-anchor": "end" }, String(value));
    for (const k of [-20, -10, 10, 20]) text({ x: across(k), y: 281, "text-anchor": "middle" }, String(k).replace("-", "−"));
    text({ x: across(0), y: 298, "text-anchor": "middle" }, "distancia k");
    const curve = draw(svg, "path", { stroke: "currentColor", "stroke-width": 1.8, fill: "none" });
    const dot = draw(svg, "circle", { r: 6, fill: "#E69F00", stroke: "currentColor" });

    const here = laboratory.slider("p", "p, la posición de una palabra", { min: 0, max: 60, step: 1, value: 5 });
    const apart = laboratory.slider("k", "k, a qué distancia está la otra", { min: -FARTHEST, max: FARTHEST, step: 1, value: 3 });
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls" }, here.label, apart.label);

    function update() {
      const [p, k] = [Number(here.slider.value), Number(apart.slider.value)];
      clocks.forEach((hands, i) => {
        [p, p + k].forEach((position, which) => {
          const [sin, cos] = encoding(position, WIDTH).slice(2 * i);
          set(hands[which], { x2: CENTERS[i] + (RADIUS - 3) * sin, y2: HUB - (RADIUS - 3) * cos });
        });
      });
      const ks = Array.from({ length: 8 * FARTHEST + 1 }, (_, i) => i / 4 - FARTHEST);
      set(curve, { d: "M" + ks.map((each) => `${across(each).toFixed(1)} ${up(product(p, p + each, WIDTH)).toFixed(1)}`).join(" L") });
      const found = product(p, p + k, WIDTH);
      set(dot, { cx: across(k), cy: up(found) });
      laboratory.tell(here, String(p));
      laboratory.tell(apart, laboratory.decimal(k, 0));
      said.textContent = `Posiciones ${p} y ${laboratory.decimal(p + k, 0)}: producto escalar ${found.toFixed(2)}, y 8 como mucho.`;
      set(svg, { "aria-label": `Ocho relojes, del que da una vuelta en 6 posiciones al que tarda 19 869. ${said.textContent}` });
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("position_clocks", build, { encoding, product });
})();
