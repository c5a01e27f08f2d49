"use strict";

// ¿Qué tramo contesta? Cada palabra tiene una puntuación de comienzo y otra de fin, y gana la pareja que
// más suma sin terminar antes de empezar ni pasarse de largo. Las puntuaciones son las de la figura
// (book/_figures/fine_tuning.py); una prueba compara el tramo con el de la biblioteca.
(() => {
  const { make, draw, set } = laboratory;
  const WORDS = ["hornea", "el", "flan", "40", "minutos", "justos"];
  const STARTS = [2, 0, 1, 6, 3, 0], ENDS = [1, 0, 1, 2, 5, 3];
  const LEFT = 128, TOP = 60, WIDE = 58, TALL = 28;

  const top = (values) => values.indexOf(Math.max(...values));

  function best(starts, ends, longest) {
    let chosen = null;
    starts.forEach((s, i) => ends.forEach((e, j) => {
      if (i <= j && j < i + longest && (!chosen || s + e > chosen.sum)) chosen = { i, j, sum: s + e };
    }));
    return chosen;
  }

  function build(place, number) {
    const svg = laboratory.canvas(232);
    const text = (attributes, content) => draw(svg, "text", { "font-size": 15, fill: "currentColor", "text-anchor": "middle", ...attributes }, content);
    text({ x: LEFT + 3 * WIDE, y: 14 }, "termina en…");
    text({ x: 60, y: 48 }, "empieza en…");
    const ends = WORDS.map((word, j) => {
      text({ x: LEFT + WIDE * (j + .5), y: 33 }, word);
      return text({ x: LEFT + WIDE * (j + .5), y: 53 });
    });
    WORDS.forEach((word, i) => text({ x: LEFT - 8, y: TOP + TALL * i + 19, "text-anchor": "end" }, `${word} ${STARTS[i]}`));
    const cells = WORDS.map((_, i) => WORDS.map((_, j) => {
      const [x, y] = [LEFT + WIDE * j, TOP + TALL * i];
      return { box: draw(svg, "rect", { x, y, width: WIDE - 3, height: TALL - 3, stroke: "currentColor" }), sum: text({ x: x + (WIDE - 3) / 2, y: y + 18 }) };
    }));

    const early = laboratory.slider("fin en «hornea»", "puntuación de terminar en «hornea»", { min: 0, max: 8, step: 1, value: 1 });
    const long = laboratory.slider("palabras", "cuántas palabras como mucho", { min: 1, max: 6, step: 1, value: 6 });
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls lab-pairs" }, early.label, long.label);

    function update() {
      const scores = [Number(early.slider.value), ...ENDS.slice(1)], longest = Number(long.slider.value);
      const found = best(STARTS, scores, longest);
      const apart = [top(STARTS), top(scores)];
      ends.forEach((end, j) => { end.textContent = String(scores[j]); });
      cells.forEach((row, i) => row.forEach(({ box, sum }, j) => {
        const allowed = i <= j && j < i + longest;
        const won = i === found.i && j === found.j;
        set(box, { fill: won ? "#E69F00" : allowed ? "#CC79A7" : "#8C8C8C", "fill-opacity": won ? .6 : allowed ? .18 : .35,
          "stroke-width": won ? 2.6 : .7, "stroke-dasharray": allowed ? "none" : "3 3" });
        sum.textContent = allowed ? String(STARTS[i] + scores[j]) : "—";
      }));
      laboratory.tell(early, String(scores[0]));
      laboratory.tell(long, String(longest));
      const answer = WORDS.slice(found.i, found.j + 1).join(" ");
      const separate = apart[0] > apart[1]
        ? ` Cada uno por su cuenta: de «${WORDS[apart[0]]}» a «${WORDS[apart[1]]}», al revés.` : "";
      said.textContent = `Responde «${answer}», que suma ${found.sum}.${separate}`;
      set(svg, { "aria-label": said.textContent });
    }
    controls.addEventListener("input", update);
    laboratory.show(place, controls, svg, said);
    update();
  }

  laboratory.start("answer_span", build, { best: (...all) => { const { i, j } = best(...all); return [i, j]; } });
})();
