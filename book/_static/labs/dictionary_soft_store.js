"use strict";

// La misma búsqueda en un diccionario y en un almacén suave, con lo que escriba quien lee. Las claves,
// sus valores y el parecido (coseno de los grupos de tres letras) son los de la figura
// (book/_figures/key_value_store.py), y una prueba compara pesos y mezcla con los de la biblioteca.
(() => {
  const { make, draw } = laboratory;
  // clave y minutos
  const STORE = [["lasaña de verduras", 60], ["lasaña de pollo", 50], ["milanesa", 30], ["flan", 40]];
  const SVG = "http://www.w3.org/2000/svg";

  function pieces(text) {
    const padded = ` ${text} `;
    const counts = new Map();
    for (let i = 0; i + 3 <= padded.length; i++) {
      const piece = padded.slice(i, i + 3);
      counts.set(piece, (counts.get(piece) ?? 0) + 1);
    }
    return counts;
  }

  const squares = (counts) => [...counts.values()].reduce((sum, n) => sum + n * n, 0);

  function cosine(left, right) {
    const [a, b] = [pieces(left), pieces(right)];
    const dot = [...a].reduce((sum, [piece, n]) => sum + n * (b.get(piece) ?? 0), 0);
    return dot ? dot / Math.sqrt(squares(a) * squares(b)) : 0;
  }

  const KEYS = STORE.map(([key]) => key).join(", ").replace(/, ([^,]*)$/, " y $1");

  function attention(query, beta) {
    const powers = STORE.map(([key]) => Math.exp(beta * cosine(query, key)));
    const total = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / total);
  }

  function build(place) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 480 196");
    svg.setAttribute("role", "img");
    const said = (attributes, text) => draw(svg, "text", { "font-size": 15, fill: "currentColor", ...attributes }, text);
    for (const [x, title] of [[78, "claves"], [203, "¿igual?"], [320, "peso"], [446, "minutos"]]) {
      said({ x, y: 18, "text-anchor": "middle", "font-size": 14 }, title);
    }
    const rows = STORE.map(([key, minutes], i) => {
      const y = 30 + 42 * i;
      draw(svg, "rect", { x: 4, y, width: 150, height: 34, fill: "#D55E00", "fill-opacity": .22, stroke: "currentColor" });
      said({ x: 79, y: y + 22, "text-anchor": "middle" }, key);
      const same = said({ x: 203, y: y + 22, "text-anchor": "middle" });
      const bar = draw(svg, "rect", { x: 254, y: y + 5, height: 24, fill: "#CC79A7", "fill-opacity": .75, stroke: "currentColor" });
      const share = said({ y: y + 22 });
      draw(svg, "rect", { x: 418, y, width: 56, height: 34, fill: "#009E73", "fill-opacity": .22, stroke: "currentColor" });
      said({ x: 446, y: y + 22, "text-anchor": "middle" }, String(minutes));
      return { key, minutes, same, bar, share };
    });

    const query = make("input", { type: "text", value: "lasaña", size: 16, maxlength: 40, spellcheck: "false", autocomplete: "off" });
    const slider = make("input", { type: "range", min: 0, max: 12, step: 0.5, value: 3, "aria-label": "β, cuánto se concentra la búsqueda" });
    const told = make("span", { class: "lab-value", "aria-hidden": "true" });
    const controls = make("div", { class: "lab-controls" }, make("label", {}, "Busca", query), make("label", {}, "β", slider, told));
    const answer = make("p", { class: "lab-said", role: "status" });

    // Una búsqueda vacía, o que no se parece a nada, se dice con palabras: los pesos iguales no lo dicen.
    function answered(text, found, minutes) {
      if (!text) return `Escribe qué buscar. Hay ${KEYS}.`;
      const exact = `Diccionario: ${found ? `${found.minutes} minutos` : "no está"}.`;
      if (STORE.every(([key]) => cosine(text, key) === 0)) {
        return `${exact} Almacén suave: «${text}» no se parece a ninguna clave, y la mezcla es la media de todas, ${minutes} minutos. Hay ${KEYS}.`;
      }
      return `${exact} Almacén suave: ${minutes} minutos, redondeados.`;
    }

    function update() {
      const text = query.value.trim().toLowerCase().replace(/\s+/g, " ");
      const weights = attention(text, Number(slider.value));
      const found = rows.find((row) => row.key === text);
      rows.forEach(({ key, same, bar, share }, i) => {
        same.textContent = key === text ? "sí" : "no";
        bar.setAttribute("width", (110 * weights[i]).toFixed(1));
        share.setAttribute("x", (261 + 110 * weights[i]).toFixed(1));
        share.textContent = weights[i].toFixed(2);
      });
      const mixture = rows.reduce((sum, { minutes }, i) => sum + minutes * weights[i], 0);
      told.textContent = Number(slider.value).toFixed(1);
      slider.setAttribute("aria-valuetext", `β = ${told.textContent}`);
      svg.setAttribute("aria-label", `Pesos de «${text}»: ` + rows.map(({ key }, i) => `${key} ${weights[i].toFixed(2)}`).join("; "));
      answer.textContent = answered(text, found, Math.round(mixture));
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, answer);
    update();
  }

  laboratory.start("dictionary_soft_store", build);
})();
