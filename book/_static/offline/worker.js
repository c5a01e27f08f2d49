
// Las páginas, de la red si la hay; lo demás, de lo guardado, que es de esta versión. Sin red, todo de lo guardado.
const PLACE = `course-${VERSION}`;
const ROOT = new URL("./", self.location).href;

// El nombre de un archivo del libro; nada, si no es suyo.
function nameOf(url) {
  const clean = url.split(/[?#]/)[0];
  const name = clean.startsWith(ROOT) ? decodeURI(clean.slice(ROOT.length)) || "index.html" : "";
  return Object.hasOwn(FILES, name) ? name : "";
}

async function carry() {
  const place = await caches.open(PLACE);
  const old = (await caches.keys()).filter((key) => key.startsWith("course-") && key !== PLACE);
  for (const key of old) {
    const before = await caches.open(key);
    for (const request of await before.keys()) {
      const name = nameOf(request.url);
      const saved = await before.match(request);
      if (name && saved.headers.get("x-digest") === FILES[name]) await place.put(request, saved);
    }
    await caches.delete(key);
  }
}

async function digest(body) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("").slice(0, 12);
}

// Se guarda si es el archivo de esta versión; otro, más nuevo o más viejo, no se mezcla con ella.
async function keep(name, response) {
  if (response.status !== 200 || response.redirected) return;
  const body = await response.arrayBuffer();
  if ((await digest(body)) !== FILES[name]) return;
  const headers = { "content-type": response.headers.get("content-type"), "x-digest": FILES[name] };
  await (await caches.open(PLACE)).put(ROOT + encodeURI(name), new Response(body, { headers }));
}

async function answer(event, name) {
  const place = await caches.open(PLACE);
  const saved = () => place.match(ROOT + encodeURI(name));
  const page = event.request.mode === "navigate" || name.endsWith(".html");
  if (!page) {
    const found = await saved();
    if (found) return found;
  }
  try {
    const response = await fetch(event.request);
    event.waitUntil(keep(name, response.clone()));
    return response;
  } catch (error) {
    const found = page ? await saved() : undefined;
    if (found) return found;
    if (event.request.mode === "navigate") return (await place.match(ROOT + "404.html")) ?? Response.error();
    throw error;
  }
}

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(fetch(ROOT + "404.html").then((response) => keep("404.html", response)).catch(() => {}));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(carry().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const name = event.request.method === "GET" ? nameOf(event.request.url) : "";
  if (name) event.respondWith(answer(event, name));
});

// Lo que se pide: el libro entero, o los archivos de una página abierta antes de que esto estuviera.
async function save(names, tell) {
  const place = await caches.open(PLACE);
  let done = 0;
  const one = async () => {
    for (let name; (name = names.pop()); tell({ done: ++done }))
      if (!(await place.match(ROOT + encodeURI(name)))) await keep(name, await fetch(ROOT + encodeURI(name), { cache: "no-cache" }));
  };
  await Promise.all([one(), one(), one(), one()]);
}

async function whole() {
  return (await (await caches.open(PLACE)).keys()).length >= Object.keys(FILES).length;
}

self.addEventListener("message", (event) => {
  const tell = (what) => event.ports[0].postMessage(what);
  const jobs = {
    visited: () => save([...new Set(event.data.urls.map(nameOf))].filter(Boolean), () => {}),
    save: async () => {
      await save(Object.keys(FILES), tell);
      if (!(await whole())) throw new Error("falta algún archivo");
    },
    forget: () => caches.delete(PLACE),
    count: async () => {},
  };
  const job = jobs[event.data.job]().then(async () => tell({ saved: await whole() }));
  event.waitUntil(job.catch((error) => tell({ error: String(error) })));
});
