"use strict";

// Lo visitado se guarda y se lee después sin red; el libro entero, si se pide. Sin servidor no hace falta nada de esto.
(() => {
  if (!("serviceWorker" in navigator) || !/^https?:$/.test(location.protocol)) return;
  const root = new URL(document.documentElement.dataset.content_root, location.href);

  async function ask(what, tell) {
    const { active } = await navigator.serviceWorker.ready;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => tell(data);
    active.postMessage(what, [port2]);
  }

  addEventListener("load", async () => {
    const first = !navigator.serviceWorker.controller;
    await navigator.serviceWorker.register(new URL("sw.js", root)).catch(() => {});
    if (!first) return;
    const urls = [location.href, ...performance.getEntriesByType("resource").map((entry) => entry.name)];
    ask({ job: "visited", urls }, () => { document.documentElement.dataset.kept = ""; });
  });

  document.addEventListener("DOMContentLoaded", () => {
    const place = document.querySelector(".offline");
    if (!place) return;
    const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
    const { files, download, stored } = COURSE_OFFLINE;
    const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
    const save = make("button", { type: "button", textContent: `Guardar el libro para leerlo sin conexión (${megabytes(download)})` });
    const forget = make("button", { type: "button", textContent: "Borrar lo guardado", hidden: true });
    const bar = make("progress", { max: files, value: 0, hidden: true });
    bar.setAttribute("aria-label", "Lo que ya está guardado");
    const said = make("p", { className: "offline-said" });
    said.setAttribute("role", "status");
    place.replaceChildren(save, forget, bar, said);

    function show(data) {
      if ("done" in data) { bar.value = data.done; return; }
      bar.hidden = true;
      save.disabled = false;
      if (data.error) { said.textContent = "No se pudo guardar entero: revisa la conexión y prueba otra vez; sigue por donde iba."; return; }
      save.hidden = data.saved;
      forget.hidden = !data.saved;
      said.textContent = data.saved
        ? `El libro está entero en este dispositivo: ocupa ${megabytes(stored)} y se lee sin conexión.`
        : "Las páginas que ya visitaste se leen también sin conexión.";
    }

    save.addEventListener("click", () => {
      save.disabled = true;
      bar.hidden = false;
      said.textContent = "Guardando…";
      navigator.storage?.persist?.();
      ask({ job: "save" }, show);
    });
    forget.addEventListener("click", () => ask({ job: "forget" }, show));
    ask({ job: "count" }, show);
  });
})();
