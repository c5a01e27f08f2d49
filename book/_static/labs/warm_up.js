"use strict";

// El plan del artículo: la tasa sube en línea recta durante w pasos y baja como la raíz inversa. Una
// prueba compara las tasas con las de la biblioteca.
(() => {
  const { make, draw, set } = laboratory;
  const STEPS = 40000, HIGHEST = 0.002;
  const LEFT = 70, RIGHT = 446, FLOOR = 196, ROOF = 20;
  const across = (step) => LEFT + (RIGHT - LEFT) * step / STEPS;
  const up = (rate) => FLOOR - (FLOOR - ROOF) * rate / HIGHEST;
  const thousands = (count) => String(count).replace(/(\d\d)(\d{3})$/, "$1 $2");

  const rate = (step, width, warmup) => width ** -0.5 * Math.min(step ** -0.5, step * warmup ** -1.5);

  function build(place, number) {
    const svg = laboratory.canvas(236);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", "text-anchor": "middle", ...attributes }, content);
    draw(svg, "path", { d: `M${LEFT} ${ROOF} V${FLOOR} H${RIGHT}`, stroke: "currentColor", fill: "none" });
    for (const value of [0, 0.001, 0.002]) text({ x: LEFT - 6, y: up(value) + 5, "text-anchor": "end" }, String(value));
    for (const step of [0, 10000, 20000, 30000, 40000]) text({ x: across(step), y: FLOOR + 18 }, thousands(step));
    text({ x: (LEFT + RIGHT) / 2, y: FLOOR + 36 }, "paso");
    const paper = draw(svg, "path", { stroke: "currentColor", "stroke-dasharray": "4 4", fill: "none" });
    const curve = draw(svg, "path", { stroke: "#0072B2", "stroke-width": 3, fill: "none" });
    const peak = draw(svg, "circle", { r: 6, fill: "#E69F00", stroke: "currentColor" });
    const line = (width, warmup) => "M" + Array.from({ length: 401 }, (_, i) => Math.max(1, i * STEPS / 400))
      .map((step) => `${across(step).toFixed(1)} ${up(rate(step, width, warmup)).toFixed(1)}`).join(" L");
    set(paper, { d: line(512, 4000) });

    const width = laboratory.choice(`width-${number}`, "d del modelo", [128, 256, 512, 1024].map((d) => [d, `d = ${d}`]), 512);
    const warm = laboratory.slider("w", "w, cuántos pasos de calentamiento", { min: 2000, max: 16000, step: 500, value: 4000 });
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls" }, width.box, warm.label);

    function update() {
      const [d, w] = [Number(width.value()), Number(warm.slider.value)];
      set(curve, { d: line(d, w) });
      set(peak, { cx: across(w), cy: up(rate(w, d, w)) });
      laboratory.tell(warm, thousands(w));
      said.textContent = `La tasa máxima es ${rate(w, d, w).toFixed(5)}, en el paso ${thousands(w)}; en el ${thousands(4 * w)} queda la mitad.`;
      set(svg, { "aria-label": `Sube hasta ${rate(w, d, w).toFixed(5)} en el paso ${w} y baja; con trazos, el plan del artículo, de d = 512 y w = 4000.` });
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("warm_up", build, { rate });
})();
