"use strict";

// Un artículo del sitio, escrito para un libro: sus títulos y su texto, en HTML si va con los demás en
// un documento (`together`), o en XHTML si va solo. Lo llama paper.py, en un Chromium sin ventana.
globalThis.written = (html, name, kept, together) => {
  const body = article(html, name, kept, together);
  return [headings(body), together ? body.outerHTML : new XMLSerializer().serializeToString(body)];
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
  body.id = key(name);
  return body;
}

// Los títulos de un artículo que van al índice: el del capítulo y los de sus apartados.
function headings(body) {
  const sections = [...body.querySelectorAll(":scope > section, :scope > section > section")];
  return sections.map((section) => {
    const title = section.querySelector(":scope > :is(h1, h2)");
    return title && { level: Number(title.tagName[1]), id: section.id, text: title.textContent.trim() };
  }).filter(Boolean);
}
