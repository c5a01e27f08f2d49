"use strict";

// Las preguntas del libro: de la lista y la respuesta plegada que se leen sin guiones, a botones o
// a un campo para un número, con una respuesta por opción. No se guarda ni se envía nada.
(() => {
  let made = 0;

  function element(tag, properties, ...children) {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  }

  function number(text) {
    const clean = text.replace(/[\s\u202f]/g, "").replace(",", ".").replace("−", "-");
    const [top, bottom] = clean.split("/").map(Number);
    return clean === "" ? NaN : bottom === undefined ? top : top / bottom;
  }

  function ask(question) {
    const id = `question-${++made}`;
    const stem = question.querySelector(".question-stem");
    const details = question.querySelector(".question-answer");
    const said = element("div", { className: "question-said" });
    said.setAttribute("role", "status");
    const replies = [...details.querySelectorAll(".question-replies > li")].map((item) => {
      const reply = element("div", { className: `question-reply ${item.className}`, hidden: true }, ...item.childNodes);
      Object.assign(reply.dataset, item.dataset);
      said.append(reply);
      return reply;
    });
    stem.id = id;
    const group = element("fieldset");
    group.setAttribute("aria-labelledby", id);

    function say(chosen) {
      for (const reply of replies) reply.hidden = reply !== chosen;
      const right = chosen.classList.contains("right");
      question.dataset.first ??= right ? "right" : "wrong";
      question.classList.toggle("solved", right);
      question.dispatchEvent(new Event("answered", { bubbles: true }));
      return right;
    }

    if (question.dataset.kind === "number") group.append(numberField(question, replies, say));
    else group.append(...choices(question, replies, say));
    details.remove();
    question.append(group, said);
  }

  function choices(question, replies, say) {
    const list = question.querySelector(".question-options");
    const buttons = [...list.children].map((item, i) => {
      const letter = element("span", { className: "question-letter" }, `${"abcdefgh"[i]})`);
      const button = element("button", { type: "button", className: "question-choice" }, letter, element("span", {}, ...item.childNodes));
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => {
        const right = say(replies[i]);
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        button.classList.add(right ? "right" : "wrong");
      });
      return button;
    });
    list.remove();
    return buttons;
  }

  function numberField(question, replies, say) {
    const input = element("input", { type: "text", inputMode: "decimal", autocomplete: "off", size: 8 });
    input.setAttribute("aria-labelledby", question.querySelector(".question-stem").id);
    const typed = element("p", { className: "question-typed" });
    const unread = element("div", { className: "question-reply wrong", hidden: true }, "Escribe un número, como 0.5, 3 o 1/4.");
    replies[0].parentElement.append(unread);
    for (const reply of replies) reply.querySelector(".question-value")?.remove();
    const form = element("form", { className: "question-number", noValidate: true }, input, element("button", { type: "submit" }, "Comprobar"));
    const other = replies.find((reply) => !("value" in reply.dataset));
    const unknown = other ?? element("div", { className: "question-reply wrong", hidden: true }, "No es eso. Revisa la cuenta y prueba otra vez.");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const value = number(input.value);
      unread.hidden = !Number.isNaN(value);
      if (Number.isNaN(value)) {
        for (const reply of replies) reply.hidden = true;
        question.classList.remove("solved");
        return input.focus();
      }
      const right = Number(replies.find((reply) => reply.classList.contains("right")).dataset.tolerance);
      const near = replies.filter((reply) => "value" in reply.dataset)
        .find((reply) => Math.abs(value - reply.dataset.value) <= (Number(reply.dataset.tolerance) || right) + 1e-9);
      if (!other && !unknown.isConnected) { replies[0].parentElement.append(unknown); replies.push(unknown); }
      typed.textContent = `Escribiste ${input.value.trim()}.`;
      (near ?? unknown).prepend(typed);
      say(near ?? unknown);
      input.setAttribute("aria-invalid", String(!near?.classList.contains("right")));
    });
    return form;
  }

  function keepScore(score) {
    const section = score.closest("section");
    const told = element("p", { className: "question-count" });
    told.setAttribute("role", "status");
    score.append(told);
    section.addEventListener("answered", () => {
      const all = [...section.querySelectorAll(".question")];
      const answered = all.filter((question) => question.dataset.first);
      const right = answered.filter((question) => question.dataset.first === "right").length;
      told.textContent = `A la primera: ${right} de ${answered.length}. `
        + (answered.length < all.length ? `Quedan ${all.length - answered.length}.` : "Ya están todas.");
    });
  }

  // Un enlace a algo plegado lo despliega.
  function reveal() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let folded = target && target.closest("details");
    if (!folded) return;
    for (; folded; folded = folded.parentElement.closest("details")) folded.open = true;
    target.scrollIntoView();
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".question").forEach(ask);
    document.querySelectorAll(".question-score").forEach(keepScore);
    reveal();
  });
  addEventListener("hashchange", reveal);
})();
