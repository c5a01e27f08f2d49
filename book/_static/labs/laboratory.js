"use strict";

// Lo que todos los laboratorios comparten; la página lo carga delante de los suyos.
const laboratory = {
  make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  },

  draw(parent, tag, attributes, text) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text) node.textContent = text;
    parent.append(node);
    return node;
  },

  // Los mandos, lo que se mueve y lo que se dice, detrás del dibujo fijo, que es el de papel.
  show(place, controls, live, said) {
    const fixed = place.querySelector("svg");
    fixed.classList.add("lab-printed");
    live.classList.add("lab-live");
    fixed.after(controls, live, said);
  },

  start(name, build) {
    document.addEventListener("DOMContentLoaded", () => {
      document.querySelectorAll(`[data-laboratory="${name}"]`).forEach(build);
    });
  },
};
