"use strict";

// Hasta dieciocho bloques con la subcapa del capítulo, «correr las coordenadas un puesto y multiplicar
// por k»: cuánto mide la señal en cada bloque y por cuánto llega multiplicada x, según dónde se
// normalice. Una prueba compara lo que sale con `Residual`, de la biblioteca.
(() => {
  const { make, draw, set } = laboratory;
  const X = [1, 1, 5, 5];
  const PLACEMENTS = [["post", "post"], ["pre", "pre"], ["sandwich", "sándwich"]];
  const STYLES = { post: "none", pre: "7 4", sandwich: "2 3" };
  const DEEPEST = 18, FLOOR = 176, ROOF = 40;
  const PANELS = [
    { left: 46, title: "tamaño de la señal", low: -0.2, high: 2.6, ticks: [[0, "1"], [1, "10"], [2, "100"]] },
    { left: 308, title: "x llega por", low: -20, high: 0.5, ticks: [[0, "1"], [-6, "10⁻⁶"], [-12, "10⁻¹²"], [-18, "10⁻¹⁸"]] },
  ];
  const WIDE = 158;

  function moments(x) {
    const mean = x.reduce((a, b) => a + b) / x.length;
    return { mean, deviation: Math.sqrt(x.reduce((sum, v) => sum + (v - mean) ** 2, 0) / x.length + 1e-5) };
  }

  function norm(x) {
    const { mean, deviation } = moments(x);
    return x.map((v) => (v - mean) / deviation);
  }

  const size = (x) => Math.sqrt(x.reduce((sum, v) => sum + v * v, 0) / x.length);

  // La señal después de cada bloque, y por cuánto ha quedado multiplicada x en el camino directo.
  function pile(placement, k, depth) {
    const sublayer = (x) => x.map((_, i) => k * x[(i + x.length - 1) % x.length]);
    const levels = [{ x: X, direct: 1 }];
    for (let block = 0; block < depth; block++) {
      const { x, direct } = levels[block];
      const branch = placement === "post" ? sublayer(x) : placement === "pre" ? sublayer(norm(x)) : norm(sublayer(norm(x)));
      const sum = x.map((v, i) => v + branch[i]);
      levels.push(placement === "post" ? { x: norm(sum), direct: direct / moments(sum).deviation } : { x: sum, direct });
    }
    return levels;
  }

  function scientific(value) {
    if (value >= 0.01) return String(Number(value.toFixed(2)));
    const power = Math.floor(Math.log10(value));
    const raised = [...String(-power)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
    return `${(value / 10 ** power).toFixed(1)} · 10⁻${raised}`;
  }

  function build(place, number) {
    const svg = laboratory.canvas(220);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", ...attributes }, content);
    const panels = PANELS.map(({ left, title, low, high, ticks }) => {
      const up = (power) => FLOOR - (FLOOR - ROOF) * (power - low) / (high - low);
      const across = (block) => left + WIDE * block / DEEPEST;
      text({ x: left + WIDE / 2, y: 20, "text-anchor": "middle" }, title);
      draw(svg, "path", { d: `M${left} ${ROOF} V${FLOOR} H${left + WIDE}`, stroke: "currentColor", fill: "none" });
      for (const [power, name] of ticks) text({ x: left - 5, y: up(power) + 5, "text-anchor": "end" }, name);
      for (const block of [0, 6, 12, 18]) text({ x: across(block), y: FLOOR + 18, "text-anchor": "middle" }, String(block));
      text({ x: left + WIDE / 2, y: FLOOR + 37, "text-anchor": "middle" }, "bloque");
      const lines = Object.fromEntries(PLACEMENTS.map(([name]) => [name,
        draw(svg, "path", { stroke: "currentColor", "stroke-dasharray": STYLES[name], fill: "none" })]));
      return { up, across, lines, dot: draw(svg, "circle", { r: 6, fill: "#E69F00", stroke: "currentColor" }) };
    });

    const where = laboratory.choice(`norm-${number}`, "¿Dónde se normaliza?", PLACEMENTS, "post");
    const deep = laboratory.slider("bloques", "cuántos bloques", { min: 1, max: DEEPEST, step: 1, value: 1 });
    const loud = laboratory.slider("k", "k, por cuánto multiplica la subcapa", { min: 0.5, max: 10, step: 0.5, value: 1 });
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls lab-pairs" }, where.box, deep.label, loud.label);

    function update() {
      const [placement, depth, k] = [where.value(), Number(deep.slider.value), Number(loud.slider.value)];
      const last = pile(placement, k, depth)[depth];
      panels.forEach(({ up, across, lines, dot }, which) => {
        const height = ({ x, direct }) => up(Math.log10(which ? direct : size(x)));
        for (const [name] of PLACEMENTS) {
          const levels = pile(name, k, DEEPEST);
          set(lines[name], { d: "M" + levels.map((level, i) => `${across(i).toFixed(1)} ${height(level).toFixed(1)}`).join(" L"),
            "stroke-width": name === placement ? 3.2 : 1.2 });
        }
        set(dot, { cx: across(depth), cy: height(last) });
      });
      laboratory.tell(deep, String(depth));
      laboratory.tell(loud, String(k));
      const out = last.x.map((v) => laboratory.decimal(v)).join(", ");
      said.textContent = `Sale (${out}); x llega multiplicada por ${scientific(last.direct)}.`;
      set(svg, { "aria-label": `${PLACEMENTS.find(([name]) => name === placement)[1]}, ${depth} bloques, k = ${k}: tamaño de la señal ${size(last.x).toFixed(2)}; x llega multiplicada por ${scientific(last.direct)}.` });
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("norm_depth", build, { pile: (...all) => pile(...all).map(({ x, direct }) => [...x, direct]) });
})();
