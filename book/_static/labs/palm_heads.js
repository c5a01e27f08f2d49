"use strict";

// Lo que guarda la caché de los tres PaLM publicados, en bfloat16, según cuántas consultas comparten cada
// par de clave y valor. Los tamaños son los de `PaLMConfig`; una prueba los compara.
(() => {
  const { make, draw, set } = laboratory;
  // bloques y cabezas
  const MODELS = { "8B": [32, 16], "62B": [64, 32], "540B": [118, 48] };
  const HEAD = 256, BYTES = 2; // el ancho de una cabeza; bfloat16
  const SHARING = [["multi", "multicabeza"], ["grouped", "por grupos de 8"], ["single", "multiconsulta"]];
  const EACH = { multi: (heads) => heads, grouped: (heads) => heads / 8, single: () => 1 };

  // Una clave y un valor por bloque y por par.
  const perToken = (model, sharing) => 2 * MODELS[model][0] * EACH[sharing](MODELS[model][1]) * HEAD * BYTES;

  function weight(bytes) {
    const power = Math.min(3, Math.floor(Math.log(bytes) / Math.log(1024)));
    return `${Number((bytes / 1024 ** power).toPrecision(3))} ${["bytes", "KiB", "MiB", "GiB"][power]}`;
  }

  function build(place, number) {
    const svg = laboratory.canvas(190);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", ...attributes }, content);
    text({ x: 4, y: 18 }, "consultas");
    text({ x: 4, y: 88 }, "pares");
    const squares = (y, fill) => Array.from({ length: 48 }, (_, i) =>
      draw(svg, "rect", { x: 92 + 16 * (i % 24), y: y + 18 * Math.floor(i / 24), width: 12, height: 12, fill, "fill-opacity": .6, stroke: "currentColor" }));
    const queries = squares(6, "#0072B2"), keys = squares(58, "#D55E00"), values = squares(98, "#009E73");
    text({ x: 92, y: 158 }, "La caché de ese texto:");
    const total = text({ x: 276, y: 158, "font-weight": 600 });
    draw(svg, "rect", { x: 92, y: 168, width: 380, height: 16, fill: "none", stroke: "currentColor" });
    const bar = draw(svg, "rect", { x: 92, y: 168, height: 16, fill: "#E69F00" });

    const sharing = laboratory.choice(`cache-${number}`, "¿Quién comparte las claves y los valores?", SHARING, "multi");
    const model = laboratory.choice(`size-${number}`, "¿Qué PaLM?", Object.keys(MODELS).map((name) => [name, name]), "540B");
    const long = laboratory.slider("tokens", "cuántos tokens tiene el texto", { min: 256, max: 8192, step: 256, value: 2048 });
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls lab-pairs" }, sharing.box, model.box, long.label);

    function update() {
      const [shared, name, tokens] = [sharing.value(), model.value(), Number(long.slider.value)];
      const heads = MODELS[name][1], pairs = EACH[shared](heads);
      const visible = (all, count) => all.forEach((square, i) => set(square, { visibility: i < count ? "visible" : "hidden" }));
      visible(queries, heads);
      visible(keys, pairs);
      visible(values, pairs);
      const bytes = perToken(name, shared);
      total.textContent = weight(bytes * tokens);
      set(bar, { width: (380 * bytes / perToken(name, "multi")).toFixed(1) });
      laboratory.tell(long, String(tokens).replace(/(?=\d{3}$)/, tokens > 9999 ? " " : ""));
      said.textContent = `${heads} consultas, ${pairs} ${pairs === 1 ? "par" : "pares"} por bloque y posición: ${weight(bytes)} por token`
        + (pairs === heads ? "." : `, ${heads / pairs} veces menos que la multicabeza.`);
      set(svg, { "aria-label": `PaLM ${name}, ${tokens} tokens: la caché ocupa ${total.textContent}.` });
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("palm_heads", build, { perToken });
})();
