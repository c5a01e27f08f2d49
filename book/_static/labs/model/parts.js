// Lo que comparten los laboratorios con un modelo: tokens, cabezas y barras; un nodo que sigue valiendo no se cambia por otro.
const { make } = laboratory;

export function percent(share) {
  if (share < 0.0005) return "< 0.1 %";
  return share < 0.9995 ? `${(100 * share).toFixed(1)} %` : "100 %";
}

// El laboratorio entero, con mandos entre lo que se mueve, detrás del dibujo fijo, que es el de papel.
export function show(place, parts, said) {
  const live = make("div", { class: "lab-live" }, ...parts), fixed = place.querySelector("svg");
  fixed.classList.add("lab-printed");
  fixed.after(live, said);
  laboratory.remember(place, live);
}

export const controls = (...parts) => make("div", { class: "lab-controls" }, ...parts);
export const name = (text) => make("p", { class: "lab-name" }, text);

// Deja en `box` tantos hijos como `count`: quita los que sobran y hace los que faltan.
export function resize(box, count, make) {
  while (box.children.length > count) box.lastElementChild.remove();
  while (box.children.length < count) box.append(make(box.children.length));
  return [...box.children];
}

// Muchos botones, y para el tabulador una sola parada: dentro se va de uno a otro con las flechas, Inicio y Fin.
export function toolbar(style, said, vertical = false) {
  const box = make("div", { class: style, role: "toolbar", "aria-label": said, "aria-orientation": vertical ? "vertical" : "horizontal" });
  const [back, on] = vertical ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
  const buttons = () => [...box.querySelectorAll("button:not(:disabled)")];
  const stopAt = (one) => buttons().forEach((button) => { button.tabIndex = button === one ? 0 : -1; });
  const isStop = (button) => button.getAttribute("tabindex") === "0";
  // Los botones cambian con lo que se escribe: siempre queda uno al que llega el tabulador.
  new MutationObserver(() => {
    const all = buttons();
    stopAt(all.find(isStop) ?? all.find((button) => button.getAttribute("aria-pressed") === "true") ?? all[0]);
  }).observe(box, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
  box.addEventListener("focusin", ({ target }) => stopAt(target.closest("button")));
  box.addEventListener("keydown", (event) => {
    const all = buttons(), at = all.indexOf(event.target);
    const next = all[{ [back]: at - 1, [on]: at + 1, Home: 0, End: all.length - 1 }[event.key]];
    if (!next || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    next.focus();
  });
  return box;
}

// Un token: su texto y, debajo, un número; `tag` dice si se puede tocar.
export function token(tag, attributes = {}) {
  return make(tag, { class: "lab-token lab-stacked", ...attributes }, make("span", {}), " ", make("small", {}));
}

export function write(node, text, number) {
  const [name, below] = node.children;
  name.textContent = text.trim() || "␣";
  below.textContent = number;
}

// Cuánto pesa un token en la atención que se mira: color y número.
export function shade(node, weight) {
  node.style.setProperty("--weight", weight.toFixed(3));
  node.lastElementChild.textContent = weight.toFixed(2);
}

// El bloque y la cabeza que se miran; el nombre de cada cabeza dice a quién mira más.
export class Heads {
  constructor(group, blocks, heads, [block, head]) {
    const numbers = (count) => [...Array(count).keys()].map((i) => [i, i + 1]);
    this.block = make("select", {}, ...numbers(blocks).map(([value, name]) => new Option(name, value, false, value === Math.min(block, blocks - 1))));
    this.head = laboratory.choice(group, "Cabeza", [...numbers(heads), ["mean", "media"]], Math.min(head, heads - 1), "lab-words lab-heads");
    this.box = controls(make("label", {}, "bloque", this.block), this.head.box);
  }

  // Los pesos que se enseñan, de los de todas las cabezas, [bloque][cabeza][t].
  choose(weights, names) {
    const heads = weights[Number(this.block.value)];
    const mean = heads[0].map((_, i) => heads.reduce((sum, head) => sum + head[i], 0) / heads.length);
    const all = [...heads, mean], chosen = this.head.value();
    this.head.box.querySelectorAll("span").forEach((span, i) => {
      const most = names[all[i].indexOf(Math.max(...all[i]))].trim();
      span.textContent = `${i < heads.length ? i + 1 : "media"} → ${most}`;
    });
    return chosen === "mean" ? mean : heads[Number(chosen)];
  }

  said() {
    const chosen = this.head.value(), block = Number(this.block.value) + 1;
    return chosen === "mean" ? `La media de las cabezas del bloque ${block}` : `La cabeza ${Number(chosen) + 1} del bloque ${block}`;
  }
}

// Las mejores respuestas, con su probabilidad; `tag` es "button" si se puede elegir otra.
export function bar(tag) {
  return make(tag, { class: "lab-bar" }, make("span", {}), " ", make("span", {}));
}

export function fill(node, name, share) {
  node.style.setProperty("--share", share.toFixed(3));
  const [label, number] = node.children;
  label.textContent = name.trim() || "␣";
  number.textContent = percent(share);
}
