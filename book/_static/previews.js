"use strict";

// La tarjeta de un término, una ecuación o una cita: con el puntero o el foco encima; se va con Escape o al salir.
(() => {
  const LINKS = '.bd-article a[href*="glossary.html#term-"], .bd-article a.internal[href*="#equation-"], .bd-article a[href*="bibliography.html#"][title]';
  const root = new URL(document.documentElement.dataset.content_root, location.href).href;
  let card, shown, timer, loading;

  function known() {
    loading ??= new Promise((done) => {
      const script = document.createElement("script");
      script.src = `${root}_static/previews_data.js`;
      script.onload = () => done(COURSE_PREVIEWS);
      script.onerror = () => done({});
      document.head.append(script);
    });
    return loading;
  }

  async function content(link) {
    const body = document.createElement("div");
    if (link.dataset.work) body.textContent = link.dataset.work;
    else body.innerHTML = (await known())[link.href.slice(root.length)] ?? "";
    return body;
  }

  async function show(link) {
    shown = link;
    const body = await content(link);
    if (shown !== link || !body.hasChildNodes()) return;
    card ??= Object.assign(document.createElement("div"), { id: "preview-card", className: "preview-card" });
    card.setAttribute("role", "tooltip");
    card.onpointerenter = () => clearTimeout(timer);
    card.onpointerleave = later;
    card.replaceChildren(body);
    document.body.append(card);
    link.setAttribute("aria-describedby", card.id);
    const place = link.getBoundingClientRect();
    const left = Math.max(8, Math.min(place.left, document.documentElement.clientWidth - card.offsetWidth - 8));
    const under = place.bottom + card.offsetHeight + 8 < innerHeight || place.top < card.offsetHeight + 8;
    card.style.left = `${left + scrollX}px`;
    card.style.top = `${(under ? place.bottom + 4 : place.top - card.offsetHeight - 4) + scrollY}px`;
  }

  function hide() {
    clearTimeout(timer);
    shown?.removeAttribute("aria-describedby");
    shown = undefined;
    card?.remove();
  }
  const later = () => { clearTimeout(timer); timer = setTimeout(hide, 250); };

  document.addEventListener("DOMContentLoaded", () => {
    for (const link of document.querySelectorAll(LINKS)) {
      if (link.title) { link.dataset.work = link.title; link.removeAttribute("title"); }
      link.addEventListener("pointerenter", ({ pointerType }) => {
        if (pointerType === "touch") return;
        clearTimeout(timer);
        timer = setTimeout(() => { if (shown !== link) { hide(); show(link); } }, 250);
      });
      link.addEventListener("pointerleave", later);
      link.addEventListener("focus", () => { if (link.matches(":focus-visible")) { hide(); show(link); } });
      link.addEventListener("blur", hide);
    }
  });
  addEventListener("keydown", ({ key }) => { if (key === "Escape") hide(); });
})();
