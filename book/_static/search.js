"use strict";

// El orden de lo que se encuentra: capítulo, apartado, ejercicio, glosario y, al final, la biblioteca. Lo que se
// escribe vale sin acentos, en singular o en plural, y con cualquiera de los nombres del glosario (search_names.js).
(() => {
  const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().trim().replace(/\s+/g, " ");
  const stemmer = new Stemmer();
  const stem = (word) => fold(stemmer.stemWord(fold(word).replace(/cion$/, "ción"))); // como en search.py
  const words = (text) => splitQuery(fold(text)).filter((word) => !stopwords.includes(word));
  const stems = (text) => words(text).map(stem);
  const worth = (page) => {
    if (/^book\/(api|bibliography|errata)/.test(page)) return 0.25;
    if (/^book\/(glossary|notation|instructor_guide|grading_cases|authoring|security|index|whole_)/.test(page)) return 0.45;
    return page.startsWith("book/") ? 1 : page.startsWith("exercises/") ? 0.3 : 0.25;
  };

  // Cuánto distingue una raíz: 0 si está en los títulos de todas las páginas.
  function rarity(root) {
    const { docnames, titleterms } = Search._index;
    return Math.log((docnames.length + 1) / ([titleterms[root] ?? []].flat().length + 1)) + 0.01;
  }

  // Qué parte de unas raíces está en otras; «traduc» casi es «traductor».
  function share(roots, others) {
    const near = (a, b) => a === b ? 1 : Math.min(a.length, b.length) > 4 && (a.startsWith(b) || b.startsWith(a)) ? 0.8 : 0;
    const sum = (weigh) => roots.reduce((total, root) => total + rarity(root) * weigh(root), 0);
    return sum((root) => Math.max(0, ...others.map((other) => near(root, other)))) / sum(() => 1);
  }

  // Cuánto dice un título de lo que se busca: de 0 a 1.
  function likeness(title, wanted) {
    const roots = stems(title);
    return wanted.length && roots.length ? share(wanted, roots) ** 2 * Math.sqrt(share(roots, wanted)) : 0;
  }

  // Lo que se lee de una página: su artículo, y de cada fórmula lo que se ve, no su TeX, que va dentro.
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html.replace(/<annotation[\s\S]*?<\/annotation>/g, ""), "text/html");
    page.querySelectorAll(".headerlink, script, style, svg").forEach((extra) => extra.remove());
    const article = page.querySelector(".bd-article") ?? page.querySelector("[role=main]");
    return (anchor && article?.querySelector(anchor) || article)?.textContent.replace(/\s+/g, " ").trim() ?? "";
  };

  // El trozo que se enseña lleva lo que se buscó, aunque se escribiera sin acentos.
  const plain = (text) => text.replace(/[\u00c0-\u024f]/g, (letter) => letter.normalize("NFD")[0]).toLowerCase();
  Search.makeSearchSummary = (html, roots, anchor) => {
    const text = Search.htmlToText(html, anchor), flat = plain(text), around = 120;
    if (!text) return null;
    const places = [...roots].map((root) => flat.search(new RegExp(`\\b${root.replace(/\W/g, "\\$&")}`))).filter((at) => at > around);
    const from = places.length ? text.indexOf(" ", Math.min(...places) - around) + 1 : 0;
    const shown = text.slice(from, from + 2 * around).trim();
    const summary = Object.assign(document.createElement("p"), { className: "context" });
    summary.textContent = `${from ? "… " : ""}${shown}${from + 2 * around < text.length ? "…" : ""}`;
    return summary;
  };

  const parse = Search._parseQuery;
  Search._parseQuery = (query) => {
    const [, , excluded, highlighted, objects] = parse(query);
    return [query, new Set(stems(query)), excluded, highlighted, objects];
  };

  // El nombre del glosario que más se parece: dónde se explica, cómo se llama aquí y cuánto se parece.
  function named(query, wanted) {
    const joined = (text) => fold(text).replace(/[\s-]/g, "");
    const alike = (name) => joined(name) === joined(query) ? 1 : likeness(name, wanted);
    const all = Object.entries(COURSE_NAMES).map(([name, [home, here]]) => [home, here, alike(name)]);
    return all.reduce((best, each) => (each[2] > best[2] ? each : best), ["", "", 0]);
  }

  Search._performSearch = (query, terms, excluded) => {
    const { docnames, filenames, titles, alltitles } = Search._index;
    const [home, name, sure] = named(query, [...terms]);
    const asked = [[...terms], ...(sure > 0.5 ? [stems(name)] : [])];
    const best = new Map();
    const add = (file, title, anchor, score) => {
      const key = docnames[file] + anchor;
      const whole = anchor ? `${titles[file]} > ${title}` : titles[file];
      const result = best.get(key) ?? [docnames[file], whole, anchor, null, 0, filenames[file]];
      result[4] += score * worth(docnames[file]);
      best.set(key, result);
    };
    for (const [title, places] of Object.entries(alltitles)) {
      const alike = Math.max(...asked.map((roots) => likeness(title, roots)));
      const same = words(query).filter((word) => words(title).includes(word)).length;  // tal cual, mejor
      for (const [file, id] of alike > 0.2 ? places : []) {
        if (titles[file] === title) add(file, title, "", 100 * alike + 5 * same);
        else add(file, title, id === null ? "" : `#${id}`, 50 * alike + 5 * same);
      }
    }
    const known = docnames.indexOf(home);
    if (known >= 0) add(known, titles[known], "", 25 * sure);
    for (const roots of asked) {
      for (const [, , , , score, filename] of Search.performTermsSearch(new Set(roots), excluded)) {
        add(filenames.indexOf(filename), "", "", score);
      }
    }
    // El apartado de una página va detrás de ella; se muestran del último al primero.
    const results = [...best.values()];
    const seen = new Set(results.filter((result) => !result[2]).map((result) => result[0]));
    for (const [file, name] of docnames.entries()) {
      const parts = results.filter((result) => result[0] === name && result[2]);
      if (parts.length && !seen.has(name)) add(file, "", "", Math.max(...parts.map((part) => part[4])) / worth(name) * 0.9);
    }
    return [...best.values()].sort((a, b) => a[4] - b[4] || (a[1] < b[1] ? 1 : -1));
  };
})();
