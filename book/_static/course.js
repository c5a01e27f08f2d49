"use strict";

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

document.addEventListener("DOMContentLoaded", () => {
  courseTranslate(document);
  // Las cajas que se desplazan de lado también se alcanzan con el teclado.
  for (const box of document.querySelectorAll(".bd-article pre, .bd-article div.math, .bd-article .pst-scrollable-table-container")) {
    if (box.scrollWidth > box.clientWidth && !box.hasAttribute("tabindex")) box.tabIndex = 0;
  }
});
