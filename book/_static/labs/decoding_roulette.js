"use strict";

// Seis ingredientes que podrían seguir a «agrega»: la temperatura, top-k y top-p cambian el reparto, y
// la ruleta cae donde diga el número sorteado. Las probabilidades son las del capítulo; una prueba
// compara el reparto con el de la biblioteca.
(() => {
  const { make, draw, set } = laboratory;
  const SAUCE = [["sal", .40], ["pimienta", .25], ["ajo", .15], ["aceite", .10], ["limón", .06], ["azúcar", .04]];
  const LEFT = 88, WIDE = 330; // las barras
  const START = 16, LONG = 448; // la ruleta, de largo 1

  const normalized = (weights) => {
    const total = weights.reduce((a, b) => a + b);
    return weights.map((weight) => weight / total);
  };

  // Primero la temperatura, después top-k y al final top-p, cada uno sobre lo que dejó el anterior.
  // Los tokens vienen de más a menos probable.
  function distribution(p, temperature, topK, topP) {
    const warm = normalized(p.map((value) => value ** (1 / temperature)));
    const few = normalized(warm.map((value, i) => (i < topK ? value : 0)));
    let before = 0;
    return normalized(few.map((value) => {
      const kept = before < topP - 1e-12 ? value : 0;
      before += value;
      return kept;
    }));
  }

  function drawn(shares, number) {
    let gathered = 0;
    const found = shares.findIndex((share) => (gathered += share) > number);
    return found < 0 ? shares.findLastIndex((share) => share > 0) : found;
  }

  function build(place) {
    const svg = laboratory.canvas(258);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", ...attributes }, content);
    const rows = SAUCE.map(([word, p], i) => {
      const y = 8 + 27 * i;
      text({ x: LEFT - 8, y: y + 16, "text-anchor": "end" }, word);
      const bar = draw(svg, "rect", { x: LEFT, y, height: 21, stroke: "currentColor", "fill-opacity": .4 });
      draw(svg, "rect", { x: LEFT, y: y + 3, width: WIDE * p, height: 15, fill: "none", stroke: "currentColor", "stroke-dasharray": "3 3" });
      return { bar, share: text({ y: y + 16 }), slice: draw(svg, "rect", { y: 206, height: 34, stroke: "currentColor", "fill-opacity": .4 }), name: text({ y: 228, "text-anchor": "middle" }) };
    });
    const needle = draw(svg, "path", { fill: "currentColor" });

    const heat = laboratory.slider("T", "T, la temperatura", { min: 0.1, max: 3, step: 0.1, value: 1 });
    const few = laboratory.slider("top-k", "top-k: cuántos quedan", { min: 1, max: SAUCE.length, step: 1, value: SAUCE.length });
    const mass = laboratory.slider("top-p", "top-p: cuánta probabilidad basta", { min: 0.05, max: 1, step: 0.05, value: 1 });
    const luck = laboratory.slider("número", "el número sorteado", { min: 0, max: 0.99, step: 0.01, value: 0.72 });
    const spin = make("button", { type: "button" }, "Sortea");
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls lab-pairs" }, heat.label, few.label, mass.label, luck.label, spin);

    function update() {
      const [T, k, p, number] = [heat, few, mass, luck].map(({ slider }) => Number(slider.value));
      const shares = distribution(SAUCE.map(([, each]) => each), T, k, p);
      const chosen = drawn(shares, number);
      let from = START;
      rows.forEach(({ bar, share, slice, name }, i) => {
        const fill = i === chosen ? "#E69F00" : "#56B4E9";
        set(bar, { width: (WIDE * shares[i]).toFixed(1), fill });
        set(share, { x: LEFT + WIDE * Math.max(shares[i], SAUCE[i][1]) + 6 });
        share.textContent = shares[i] ? shares[i].toFixed(2) : "fuera";
        const wide = LONG * shares[i];
        set(slice, { x: from.toFixed(1), width: wide.toFixed(1), fill });
        set(name, { x: from + wide / 2 });
        name.textContent = wide > 9 * SAUCE[i][0].length ? SAUCE[i][0] : "";
        from += wide;
      });
      const x = START + LONG * number;
      set(needle, { d: `M${x - 7} 184 h14 l-7 20 z` });
      laboratory.tell(heat, T.toFixed(1));
      laboratory.tell(few, String(k));
      laboratory.tell(mass, p.toFixed(2));
      laboratory.tell(luck, number.toFixed(2));
      const left = shares.filter((share) => share > 0).length;
      said.textContent = `${left === 1 ? "Queda 1" : `Quedan ${left}`} de ${SAUCE.length}. Con el número ${number.toFixed(2)} sale «${SAUCE[chosen][0]}».`;
      set(svg, { "aria-label": "Probabilidades: " + SAUCE.map(([word], i) => `${word} ${shares[i].toFixed(2)}`).join("; ") });
    }
    controls.addEventListener("input", update);
    spin.addEventListener("click", () => {
      luck.slider.value = Math.random();
      luck.slider.dispatchEvent(new Event("change", { bubbles: true }));
      update();
    });
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("decoding_roulette", build, { distribution, drawn });
})();
