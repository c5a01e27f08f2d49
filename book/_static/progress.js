"use strict";

// «Tu progreso»: las casillas se guardan en este navegador y en ningún otro sitio.
(() => {
  const PLACE = "course-progress";

  function stored() {
    try {
      const names = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
      return new Set(Array.isArray(names) ? names.filter((name) => typeof name === "string") : []);
    } catch {
      return new Set();
    }
  }

  // Lo que `resumen()` da para pegar: «attention: soft_argmax, columns», también con más texto alrededor.
  function pasted(text, known) {
    const found = new Set();
    for (const [, topic, names] of text.matchAll(/\b([a-z]\w*):[ \t]*((?:[a-z]\w*)(?:[ \t]*,[ \t]*[a-z]\w*)*)/g))
      for (const name of names.split(/\s*,\s*/))
        if (known.has(`${topic}.${name}`)) found.add(`${topic}.${name}`);
    return found;
  }

  document.addEventListener("DOMContentLoaded", () => {
    const list = document.querySelector(".progress-list");
    if (!list) return;
    const boxes = [...list.querySelectorAll("input[data-progress]")];
    const known = new Set(boxes.map((box) => box.dataset.progress));
    const tools = document.createElement("div");
    tools.className = "progress-tools";
    tools.innerHTML = `<p class="progress-total" role="status"></p>
      <label for="progress-line">Pega aquí la línea que da <code>resumen()</code></label>
      <textarea id="progress-line" rows="2" spellcheck="false" autocomplete="off"></textarea>
      <button type="button" data-do="add">Anotar</button><button type="button" data-do="clear">Borrar todo</button>
      <p class="progress-said" role="status"></p>`;
    list.before(tools);
    const line = tools.querySelector("textarea");
    const say = (text) => { tools.querySelector(".progress-said").textContent = text; };

    function show() {
      const done = stored();
      for (const box of boxes) box.checked = done.has(box.dataset.progress);
      const count = (kind) => {
        const all = boxes.filter((box) => box.dataset.kind === kind);
        return [all.filter((box) => box.checked), all];
      };
      const [read, chapters] = count("capítulo");
      const [solved, exercises] = count("ejercicio");
      const points = (rows) => rows.reduce((sum, box) => sum + Number(box.dataset.points), 0);
      tools.querySelector(".progress-total").textContent = `${read.length} de ${chapters.length} capítulos · `
        + `${solved.length} de ${exercises.length} ejercicios · ${points(solved)} de ${points(exercises)} puntos`;
    }

    function save(names) {
      try {
        localStorage.setItem(PLACE, JSON.stringify([...names].sort()));
      } catch {
        say("Este navegador no deja guardar nada: al cerrar la página se pierde.");
      }
      show();
    }

    for (const box of boxes) {
      box.disabled = false;
      box.addEventListener("change", () => {
        const done = stored();
        done[box.checked ? "add" : "delete"](box.dataset.progress);
        save(done);
      });
    }
    tools.querySelector('[data-do="add"]').addEventListener("click", () => {
      const found = pasted(line.value, known);
      if (!found.size) {
        say("No hay ahí ningún ejercicio del curso. La línea empieza por el nombre del tema, como «attention: soft_argmax».");
        return line.focus();
      }
      save(new Set([...stored(), ...found]));
      say(found.size === 1 ? "Anotado: 1 ejercicio." : `Anotados: ${found.size} ejercicios.`);
      line.value = "";
    });
    tools.querySelector('[data-do="clear"]').addEventListener("click", () => {
      if (confirm("¿Borrar todo lo anotado en este navegador?")) { save(new Set()); say("Borrado."); }
    });
    addEventListener("storage", (event) => { if (event.key === PLACE) show(); });
    show();
  });
})();
