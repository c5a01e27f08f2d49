"use strict";

// Lo que dice la búsqueda, mejor que en la traducción de Sphinx.
Object.assign(Documentation.TRANSLATIONS, {
  "Search Results": "Resultados",
  "Preparing search...": "Preparando la búsqueda…",
  "Search finished, found ${resultCount} page(s) matching the search query.": "Páginas encontradas: ${resultCount}.",
  "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.":
    "Ninguna página contiene todas esas palabras. Revisa cómo están escritas o busca con menos.",
});

// Lo que otros guiones de la página escriben en inglés al cargarse, dicho en español.
const COURSE_LABELS = {
  "Page": "Índice de la página",
  "Toggle hidden content": "Mostrar u ocultar el contenido",
  "Link to this heading": "Enlace a este apartado",
  "Link to this image": "Enlace a esta figura",
  "Link to this table": "Enlace a esta tabla",
  "Link to this code": "Enlace a este listado",
  "Link to this equation": "Enlace a esta ecuación",
  "Link to this term": "Enlace a este término",
  "Link to this definition": "Enlace a esta definición",
};

function courseTranslate(root) {
  for (const attribute of ["aria-label", "title", "data-bs-title", "data-bs-original-title"]) {
    for (const element of root.querySelectorAll(`[${attribute}]`)) {
      const spanish = COURSE_LABELS[element.getAttribute(attribute)];
      if (spanish) element.setAttribute(attribute, spanish);
    }
  }
}

// Las cajas que se desplazan de lado también se alcanzan con el teclado, y un lector de pantalla dice
// qué son; lo que ya tiene su papel, como una figura, lo conserva. Cambian de ancho con la ventana y
// al desplegarse.
const COURSE_BOXES = ".bd-article :is(pre, .formula, .pst-scrollable-table-container, .cell_output, .cell_output > .output, .diagram-figure, .screen)";
const COURSE_KINDS = { ".formula": "Fórmula", ".screen": "Captura", "pre": "Código", ":has(table)": "Tabla" };
const courseWidths = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const wide = target.scrollWidth > target.clientWidth + 1;
    const said = { tabindex: 0, ...(target.tagName === "DIV" && { role: "region", "aria-label": courseNames.get(target) }) };
    for (const [name, value] of Object.entries(said)) {
      if (wide) target.setAttribute(name, value);
      else target.removeAttribute(name);
    }
  }
});
const courseNames = new Map();

function courseWatch() {
  [...document.querySelectorAll(COURSE_BOXES)].forEach((box, i) => {
    const [, kind] = Object.entries(COURSE_KINDS).find(([which]) => box.matches(which)) ?? [, "Resultado"];
    courseNames.set(box, `${kind} que se desplaza de lado (${i + 1})`);
    courseWidths.observe(box);
  });
}

document.addEventListener("DOMContentLoaded", () => {
  courseTranslate(document);
  courseWatch();
});

// El alto de una sección lejana se calcula, y no se sabe hasta que se dispone: quien llega por un enlace a un apartado
// vuelve a él según se sabe, mientras no mueva la página.
function courseLand() {
  const target = document.getElementById(location.hash.slice(1));
  const article = target?.closest(".bd-article");
  if (!article) return;
  const landing = new ResizeObserver(() => target.scrollIntoView());
  const landed = () => landing.disconnect();
  landing.observe(article);
  for (const moved of ["wheel", "touchstart", "pointerdown", "keydown", "hashchange"]) addEventListener(moved, landed, { once: true, passive: true });
  setTimeout(landed, 3000);
}
// Al recargar o volver, el navegador recuerda dónde se estaba.
document.addEventListener("DOMContentLoaded", () => {
  if (performance.getEntriesByType("navigation")[0]?.type === "navigate") courseLand();
});
addEventListener("hashchange", courseLand);

// Una fórmula se copia como su TeX, entera aunque se haya escogido a medias.
document.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (selection.isCollapsed || !event.clipboardData || /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName)) return;
  const range = selection.getRangeAt(0).cloneRange();
  const formula = (node) => (node.nodeType === 1 ? node : node.parentElement).closest("math");
  if (formula(range.startContainer)) range.setStartBefore(formula(range.startContainer));
  if (formula(range.endContainer)) range.setEndAfter(formula(range.endContainer));
  const copied = Object.assign(document.createElement("div"), { className: "course-copied" });
  copied.append(range.cloneContents());
  const formulas = [...copied.querySelectorAll("math")];
  if (!formulas.length) return;
  for (const one of formulas) {
    const mark = one.getAttribute("display") === "block" ? "$$" : "$";
    const tex = Object.assign(document.createElement("span"), { textContent: mark + one.querySelector("annotation").textContent + mark });
    tex.style.whiteSpace = "pre";
    one.replaceWith(tex);
  }
  copied.querySelectorAll("a.headerlink, button").forEach((extra) => extra.remove());
  document.body.append(copied);
  event.clipboardData.setData("text/plain", copied.innerText);
  copied.remove();
  event.preventDefault();
});

// Al imprimir, en claro y con todo desplegado; después queda como estaba.
let courseOpened = [];
let courseTheme;
addEventListener("beforeprint", () => {
  courseTheme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  courseOpened = [...document.querySelectorAll(".bd-article details:not([open])")];
  for (const folded of courseOpened) folded.open = true;
});
addEventListener("afterprint", () => {
  document.documentElement.dataset.theme = courseTheme;
  for (const folded of courseOpened) folded.open = false;
});
