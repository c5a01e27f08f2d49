"use strict";

// BPE sobre el texto que se escriba, fusión a fusión. Es el bucle del capítulo, que vuelve a contar
// todos los pares en cada paso; una prueba compara sus fusiones con las de la biblioteca.
(() => {
  const { make } = laboratory;
  const PATTERN = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
  const LEAST = 2; // un par que aparece una sola vez no se fusiona
  const visible = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  const BYTES = [...Array(256).keys()];
  const RANK = new Map([...BYTES.filter(visible), ...BYTES.filter((byte) => !visible(byte))].map((byte, rank) => [byte, rank]));
  const age = (symbol) => RANK.get(symbol) ?? symbol;

  function merge(symbols, [left, right], born) {
    const out = [];
    for (let i = 0; i < symbols.length; i++) {
      if (symbols[i] === left && symbols[i + 1] === right) {
        out.push(born);
        i++;
      } else out.push(symbols[i]);
    }
    return out;
  }

  function best(pieces) {
    const counts = new Map();
    for (const { symbols, times } of pieces.values()) {
      for (let i = 0; i + 1 < symbols.length; i++) {
        const key = `${symbols[i]},${symbols[i + 1]}`;
        counts.set(key, (counts.get(key) ?? 0) + times);
      }
    }
    let chosen = null;
    for (const [key, count] of counts) {
      const pair = key.split(",").map(Number);
      const order = [-count, age(pair[0]), age(pair[1])];
      const difference = chosen && order.map((n, i) => n - chosen.order[i]).find((n) => n !== 0);
      if (!chosen || difference < 0) chosen = { pair, count, order };
    }
    return chosen && chosen.count >= LEAST ? chosen : null;
  }

  // Todas las fusiones de un texto y cómo queda después de cada una.
  function learn(text) {
    const encoder = new TextEncoder();
    const order = text.match(PATTERN) ?? [];
    const pieces = new Map();
    for (const piece of order) {
      const known = pieces.get(piece);
      if (known) known.times++;
      else pieces.set(piece, { symbols: [...encoder.encode(piece)], times: 1 });
    }
    const bytes = BYTES.map((byte) => [byte]);
    const snapshot = () => order.map((piece) => pieces.get(piece).symbols);
    const steps = [{ state: snapshot() }];
    for (let found = best(pieces); found; found = best(pieces)) {
      const born = bytes.length;
      bytes.push([...bytes[found.pair[0]], ...bytes[found.pair[1]]]);
      for (const piece of pieces.values()) piece.symbols = merge(piece.symbols, found.pair, born);
      steps.push({ state: snapshot(), pair: found.pair, count: found.count, born });
    }
    return { steps, bytes };
  }

  function spelled(bytes) {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(bytes)).replace(/ /g, "␣").replace(/\n/g, "↵");
    } catch {
      return bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ");
    }
  }

  function build(place, number) {
    const box = make("textarea", { id: `merges-${number}`, rows: 2, maxlength: 600, spellcheck: "false" });
    box.value = "Pica el ajo y la cebolla, y sofríela. Pica el apio y la papa, y sofríelos. Pela la papa y la calabaza, y sofríelas.";
    const slider = make("input", { type: "range", min: 0, value: 8, step: 1, "aria-label": "Cuántas fusiones" });
    const told = make("span", { class: "lab-value", "aria-hidden": "true" });
    const chips = make("p", { class: "lab-tokens", role: "img" });
    const said = make("p", { class: "lab-said", role: "status" });
    const controls = make("div", { class: "lab-controls" },
      make("label", { class: "lab-text" }, make("span", {}, "Tu texto"), box),
      make("label", {}, "fusiones", slider, told));
    let learned;

    function show() {
      const done = Number(slider.value);
      const { state, pair, count, born } = learned.steps[done];
      const name = (symbol) => spelled(learned.bytes[symbol]);
      const tokens = state.flat();
      chips.replaceChildren(...tokens.map((symbol) =>
        make("span", { class: symbol === born ? "lab-token lab-born" : "lab-token", "data-id": symbol }, name(symbol))));
      chips.setAttribute("aria-label", `Los tokens: ${tokens.map(name).join(" | ")}`);
      told.textContent = done;
      slider.setAttribute("aria-valuetext", `${done} fusiones`);
      const last = done === learned.steps.length - 1 ? " Ya no queda ningún par que se repita." : "";
      said.textContent = (done
        ? `Fusión ${done}: «${name(pair[0])}» + «${name(pair[1])}», ${count} veces. Quedan ${tokens.length} tokens.`
        : `Sin fusiones, un token por byte: ${tokens.length}.`) + last;
    }

    function update() {
      learned = learn(box.value);
      slider.max = learned.steps.length - 1;
      show();
    }

    box.addEventListener("input", update);
    slider.addEventListener("input", show);
    laboratory.show(place, controls, chips, said);
    update();
  }

  laboratory.start("merges", build);
})();
