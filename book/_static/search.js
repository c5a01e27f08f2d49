"use strict";

// El orden de lo que se encuentra: capítulo, apartado, ejercicio, glosario y, al final, la biblioteca. Lo que se
// escribe vale sin acentos, en singular o en plural, y con cualquiera de los nombres del glosario (search_names.js).
(() => {
  const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().trim().replace(/\s+/g, " ");
  const stemmer = new Stemmer();
  const stem = (word) => stemmer.stemWord(fold(word));
  const stems = (text) => splitQuery(fold(text)).filter((word) => !stopwords.includes(word)).map(stem);
  const worth = (page) => {
    if (/^book\/(api|bibliography|errata)/.test(page)) return 0.25;
    if (/^book\/(glossary|notation|instructor_guide|index|whole_)/.test(page)) return 0.45;
    return page.startsWith("book/") ? 1 : page.startsWith("exercises/") ? 0.6 : 0.5;
  };

  // Cuánto dice un título de lo que se busca: de 0 a 1.
  function likeness(title, wanted) {
    const words = stems(title);
    const common = wanted.filter((word) => words.includes(word)).length;
    return wanted.length && words.length ? (common / wanted.length) ** 2 * Math.sqrt(common / words.length) : 0;
  }

  const parse = Search._parseQuery;
  Search._parseQuery = (query) => {
    const [, , excluded, highlighted, objects] = parse(query);
    return [query, new Set(stems(query)), excluded, highlighted, objects];
  };

  Search._performSearch = (query, terms, excluded) => {
    const { docnames, filenames, titles, alltitles } = Search._index;
    const [home, name] = COURSE_NAMES[fold(query)] ?? COURSE_NAMES[fold(query).replace(/s$/, "")] ?? [];
    const asked = [[...terms], ...(name ? [stems(name)] : [])];
    const best = new Map();
    const add = (file, title, anchor, score) => {
      const key = docnames[file] + anchor;
      const whole = anchor ? `${titles[file]} > ${title}` : titles[file];
      const result = best.get(key) ?? [docnames[file], whole, anchor, null, 0, filenames[file]];
      result[4] += score * worth(docnames[file]);
      best.set(key, result);
    };
    for (const [title, places] of Object.entries(alltitles)) {
      const alike = Math.max(...asked.map((words) => likeness(title, words)));
      for (const [file, id] of alike > 0.3 ? places : []) {
        if (titles[file] === title) add(file, title, "", 100 * alike);
        else add(file, title, id === null ? "" : `#${id}`, 50 * alike);
      }
    }
    const known = docnames.indexOf(home);
    if (known >= 0) add(known, titles[known], "", 60);
    for (const words of asked) {
      for (const [, , , , score, filename] of Search.performTermsSearch(new Set(words), excluded)) {
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
