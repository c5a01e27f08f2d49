"use strict";

// Hasta dónde mira atrás la primera palabra de un segmento: se sigue, capa a capa, de qué posiciones
// depende. El alcance que se ve sale de seguirlas, y una prueba lo compara con la fórmula y con un
// modelo de la biblioteca.
(() => {
  const { make, draw, set } = laboratory;
  const LEFT = 78, RIGHT = 474, RISE = 34, FLOOR = 158, DEEPEST = 4, LONGEST = 8;

  // Las posiciones de las que depende `target`, de la última capa a las palabras.
  function influence(target, layers, segment, memory) {
    const levels = [[target]];
    for (let layer = 0; layer < layers; layer++) {
      const seen = new Set();
      for (const i of levels[layer]) {
        const start = Math.floor(i / segment) * segment - memory;
        for (let j = Math.max(0, start); j <= i; j++) seen.add(j);
      }
      levels.push([...seen]);
    }
    return levels;
  }

  // La última palabra abre un segmento, y antes caben todas de las que puede depender.
  function look(layers, segment, memory) {
    const target = segment * (1 + layers * Math.max(1, Math.ceil(memory / segment)));
    const levels = influence(target, layers, segment, memory);
    return { target, levels, reach: target - Math.min(...levels[layers]) };
  }

  function build(place, number) {
    const svg = laboratory.canvas(214);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", ...attributes }, content);
    const names = Array.from({ length: DEEPEST + 1 }, (_, level) =>
      text({ x: LEFT - 6, y: FLOOR - RISE * level + 16, "text-anchor": "end" }, level ? `capa ${level}` : "palabras"));
    const dots = draw(svg, "g", {}), span = draw(svg, "path", { fill: "none", stroke: "currentColor", "stroke-width": 2 });
    const told = text({ y: 208, "text-anchor": "middle", "font-weight": 600 });

    const memory = laboratory.choice(`reach-${number}`, "¿Con memoria?", [["on", "con memoria"], ["off", "sin memoria"]], "on");
    const kept = laboratory.slider("m", "m, cuántas posiciones recuerda", { min: 1, max: LONGEST, step: 1, value: 4 });
    const cut = laboratory.slider("L", "L, cuánto mide un segmento", { min: 1, max: LONGEST, step: 1, value: 4 });
    const deep = laboratory.slider("N", "N, cuántas capas", { min: 1, max: DEEPEST, step: 1, value: 3 });
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls lab-pairs" }, memory.box, kept.label, cut.label, deep.label);

    function update() {
      const [m, L, N] = [kept, cut, deep].map(({ slider }) => Number(slider.value));
      const used = memory.value() === "on" ? m : 0;
      const { target, levels, reach } = look(N, L, used);
      const first = Math.max(0, target - Math.max(reach, 12) - L), count = target - first + 1;
      const pitch = (RIGHT - LEFT) / count, side = Math.min(20, pitch - 1.5);
      const x = (i) => LEFT + pitch * (i - first) + (pitch - side) / 2;
      dots.replaceChildren();
      names.forEach((name, level) => set(name, { visibility: level > N ? "hidden" : "visible" }));
      for (let level = 0; level <= N; level++) {
        const reached = new Set(levels[N - level]);
        for (let i = first; i <= target; i++) {
          const odd = Math.floor(i / L) % 2;
          draw(dots, "rect", { x: x(i).toFixed(1), y: FLOOR - RISE * level, width: side.toFixed(1), height: 20, stroke: "currentColor", "stroke-width": reached.has(i) ? 1.6 : .5,
            fill: reached.has(i) ? "#E69F00" : "#8C8C8C", "fill-opacity": reached.has(i) ? .75 : odd ? .3 : .08 });
        }
      }
      const [from, to] = [x(target - reach) + side / 2, x(target) + side / 2];
      set(span, { d: reach ? `M${from} 184 v6 H${to} v-6` : "" });
      set(told, { x: Math.min(Math.max((from + to) / 2, 90), 400) });
      told.textContent = reach ? `${reach} palabras atrás` : "solo a sí misma";
      kept.slider.disabled = !used;
      laboratory.tell(kept, String(m));
      laboratory.tell(cut, String(L));
      laboratory.tell(deep, String(N));
      said.textContent = used
        ? `Alcance: ${m} + ${N - 1} · ${L} · ⌈${m}/${L}⌉ = ${reach}.`
        : "Sin memoria, la primera palabra de un segmento no ve ninguna anterior.";
      set(svg, { "aria-label": `Segmentos de ${L}, memoria de ${used}, ${N} capas: la primera palabra de un segmento depende de las ${reach} anteriores.` });
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("xl_reach", build, { reach: (...all) => look(...all).reach });
})();
