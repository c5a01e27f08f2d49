"use strict";

// Lo que todos los laboratorios comparten; la página lo carga delante de los suyos.
const laboratory = {
  // Las cuentas de cada laboratorio, sin nada de la página: las pruebas las comparan con la biblioteca.
  computes: {},

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

  set(node, attributes) {
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  },

  // Un número con los decimales pedidos, con el signo menos que se lee y sin cero negativo.
  decimal(value, digits = 2) {
    const text = value.toFixed(digits);
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
  },

  // Un dibujo vacío, del mismo ancho en todos los laboratorios.
  canvas(height) {
    return laboratory.draw(document.createDocumentFragment(), "svg", { viewBox: `0 0 480 ${height}`, role: "img" });
  },

  // Un control deslizante con su nombre y, al lado, lo que vale; `told` lo escribe `laboratory.tell`.
  slider(name, said, attributes) {
    const slider = laboratory.make("input", { type: "range", "aria-label": said, ...attributes });
    const told = laboratory.make("span", { class: "lab-value", "aria-hidden": "true" });
    return { slider, told, label: laboratory.make("label", {}, name, slider, told) };
  },

  tell({ slider, told }, text) {
    told.textContent = text;
    slider.setAttribute("aria-valuetext", text);
  },

  // Una opción entre varias; `options` son parejas de valor y nombre.
  choice(group, legend, options, chosen, style = "") {
    const { make } = laboratory;
    const box = make("fieldset", { class: style }, make("legend", { class: "visually-hidden" }, legend));
    for (const [value, name] of options) {
      const radio = make("input", { type: "radio", name: group, value });
      radio.checked = String(value) === String(chosen);
      box.append(make("label", {}, radio, make("span", {}, name)));
    }
    return { box, value: () => box.querySelector(":checked").value };
  },

  // Los mandos, lo que se mueve y lo que se dice, detrás del dibujo fijo, que es el de papel.
  show(place, controls, live, said) {
    const fixed = place.querySelector("svg");
    fixed.classList.add("lab-printed");
    live.classList.add("lab-live");
    fixed.after(controls, live, said);
    laboratory.remember(place, controls);
  },

  // La dirección guarda cómo están los mandos: quien abre el enlace ve lo mismo.
  remember(place, controls) {
    const name = place.dataset.laboratory;
    const fields = [...controls.querySelectorAll("input, textarea, select")];
    const kinds = new Map();
    fields.forEach((field, i) => {
      const kind = field.type === "radio" ? field.name : i;
      kinds.set(kind, [...(kinds.get(kind) ?? []), field]);
    });
    const groups = [...kinds.values()];
    new URLSearchParams(location.search).getAll(name).forEach((value, i) => {
      const [first] = groups[i] ?? [];
      if (first?.type === "checkbox") first.checked = value === "on";
      else if (first?.type === "radio") groups[i].forEach((radio) => { radio.checked ||= radio.value === value; });
      else if (first) first.value = value;
    });
    controls.addEventListener("change", () => {
      const address = new URL(location);
      address.searchParams.delete(name);
      for (const group of groups) {
        const field = group.find((each) => each.type !== "radio" || each.checked);
        address.searchParams.append(name, field.type === "checkbox" && !field.checked ? "off" : field.value);
      }
      address.hash = place.closest("figure")?.id ?? "";
      try { history.replaceState(history.state, "", address); } catch { /* una página abierta sin servidor no cambia de dirección */ }
    });
  },

  // Los que tienen un modelo guardado son módulos: el guion y los pesos se bajan cuando el laboratorio se acerca, y
  // mientras tanto queda el dibujo. Si ocupan mucho, o se pidió gastar pocos datos, decide quien lee.
  near: "800px",
  heavy: 5, // MB

  approach(place, home) {
    const { laboratory: name, model, version, size } = place.dataset;
    const told = laboratory.make("p", { class: "lab-said", role: "status" });
    const bar = laboratory.make("progress", { max: 1, value: 0, "aria-label": "Lo que ha llegado" });
    const load = async (asked) => {
      told.replaceChildren(`Bajando el modelo de este laboratorio (${size})… `, bar);
      try {
        const [{ Folder }, { build }] = await Promise.all([import(new URL("model/folder.js", home)), import(new URL(`${name}.js`, home))]);
        await build(place, new Folder(new URL(`../models/${model}/`, home), version, (part) => { bar.value = part || 0; }));
        told.remove();
        // Quien lo pidió con el teclado sigue donde estaba: el botón ya no está.
        if (asked) place.querySelector(".lab-controls :is(input:not([type=hidden]), textarea, select, button)")?.focus({ preventScroll: true });
      } catch {
        told.textContent = "No se pudo bajar el modelo: revisa la conexión y recarga la página.";
      }
    };
    place.append(told);
    if (!navigator.connection?.saveData && parseFloat(size) < laboratory.heavy) return load();
    const button = laboratory.make("button", { type: "button" }, `Pruébalo aquí (${size})`);
    button.addEventListener("click", load);
    told.append(button);
  },

  watch(home) {
    const places = document.querySelectorAll("[data-model]");
    if (!places.length || location.protocol === "file:") return;
    const observer = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
      observer.unobserve(target);
      laboratory.approach(target, home);
    }), { rootMargin: laboratory.near });
    places.forEach((place) => observer.observe(place));
  },

  // Mientras haya un laboratorio donde aparece el botón de volver arriba, el botón no aparece.
  uncover() {
    const below = new Set();
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) below[isIntersecting ? "add" : "delete"](target);
      document.documentElement.classList.toggle("lab-below", below.size > 0);
    }, { rootMargin: "-85% 0px 0px" });
    document.querySelectorAll(".laboratory-figure").forEach((figure) => observer.observe(figure));
  },

  start(name, build, computes = {}) {
    laboratory.computes[name] = computes;
    document.addEventListener("DOMContentLoaded", () => {
      document.querySelectorAll(`[data-laboratory="${name}"]`).forEach(build);
    });
  },
};

{
  const home = document.currentScript?.src;
  document.addEventListener("DOMContentLoaded", () => {
    laboratory.watch(home);
    laboratory.uncover();
  });
}
