"use strict";

// Un artículo del sitio, escrito para un libro: sus títulos y su texto, en HTML si va con los demás en
// un documento (`together`), o en XHTML si va solo. Lo llama paper.py, en un Chromium sin ventana.
globalThis.written = (html, name, kept, together) => {
  const body = article(html, name, kept, together);
  const text = (node) => (together ? node.outerHTML : new XMLSerializer().serializeToString(node));
  return [headings(body, text), text(body)];
};

// Sin botones ni anclas, y con sus enlaces a las demás páginas del libro. En un solo documento, cada
// identificador lleva delante el de su página.
function article(html, name, kept, together) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const body = page.querySelector("article.bd-article");
  const extras = "script, button, template, iframe, .noprint, .headerlink, .page-doors, .offline, .listing-whole";
  body.querySelectorAll(extras).forEach((extra) => extra.remove());
  // Lo que solo sirve para elegir con el ratón.
  body.querySelectorAll("[tabindex], [contenteditable], [onclick]").forEach((node) => {
    for (const attribute of ["tabindex", "contenteditable", "onclick"]) node.removeAttribute(attribute);
  });

  const key = (docname) => docname.replaceAll("/", ".");
  const file = (docname) => (together ? "#" + key(docname) : key(docname) + ".xhtml");
  const local = (id) => (together ? `${key(name)}--${id}` : id);

  const site = `https://libro/${name}.html`;
  body.querySelectorAll("a[href]").forEach((link) => {
    const target = new URL(link.getAttribute("href"), site);
    if (target.host !== "libro") return;
    const docname = target.pathname.slice(1).replace(/\.html$/, "");
    const fragment = decodeURIComponent(target.hash.slice(1));
    if (!kept.includes(docname)) link.replaceWith(...link.childNodes);
    else if (!fragment) link.setAttribute("href", file(docname));
    else link.setAttribute("href", together ? `#${key(docname)}--${fragment}` : `${docname === name ? "" : file(docname)}#${fragment}`);
  });
  body.querySelectorAll("img[src]").forEach((image) => {
    image.setAttribute("src", new URL(image.getAttribute("src"), site).pathname.slice(1));
  });

  if (together) {
    for (const node of body.querySelectorAll("*")) {
      if (node.id) node.id = local(node.id);
      for (const attribute of ["for", "headers", "aria-labelledby", "aria-describedby", "aria-controls"])
        if (node.hasAttribute(attribute))
          node.setAttribute(attribute, node.getAttribute(attribute).split(/\s+/).map(local).join(" "));
      for (const { name: attribute, value } of [...node.attributes]) {
        if (value.includes("url(#")) node.setAttribute(attribute, value.replaceAll("url(#", `url(#${local("")}`));
        if (node.namespaceURI.endsWith("svg") && attribute.endsWith("href") && value.startsWith("#"))
          node.setAttribute(attribute, "#" + local(value.slice(1)));
      }
    }
    body.querySelectorAll("details").forEach((folded) => { folded.open = true; });
  }
  if (!together) makeStrict(body);
  body.id = key(name);
  return body;
}

// Lo que un navegador admite y XHTML o la versión de MathML de los lectores no: los caracteres de
// control, que pasan a su dibujo, y el tamaño de una fórmula fuera de `mstyle`.
function makeStrict(body) {
  const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { currentNode: node } = texts;
    node.data = node.data.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0)));
  }
  const sizes = ["displaystyle", "scriptlevel"];
  body.querySelectorAll("math :is([displaystyle], [scriptlevel]):not(mstyle)").forEach((node) => {
    const style = document.createElementNS(node.namespaceURI, "mstyle");
    for (const size of sizes) {
      if (node.hasAttribute(size)) style.setAttribute(size, node.getAttribute(size));
      node.removeAttribute(size);
    }
    node.replaceWith(style);
    style.append(node);
  });
}

// Los títulos de un artículo que van al índice: el del capítulo y los de sus apartados.
function headings(body, text) {
  const sections = [...body.querySelectorAll(":scope > section, :scope > section > section")];
  return sections.map((section) => {
    const title = section.querySelector(":scope > :is(h1, h2)");
    if (!title) return null;
    const plain = title.cloneNode(true);
    plain.querySelectorAll("annotation").forEach((tex) => tex.remove());
    plain.querySelectorAll("a").forEach((link) => link.replaceWith(...link.childNodes));
    const html = [...plain.childNodes].map((node) => (node.nodeType === 3 ? escaped(node.data) : text(node))).join("");
    return { level: Number(title.tagName[1]), id: section.id, text: plain.textContent.trim(), html };
  }).filter(Boolean);
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
