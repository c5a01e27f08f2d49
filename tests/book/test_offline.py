"""El sitio sin red: lo visitado, el libro entero si se pide, y lo que lo instala en un teléfono."""

import json
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from PIL import Image

pytestmark = [pytest.mark.browser, pytest.mark.site, pytest.mark.slow]
WHOLE = "El libro está entero"


def listed_in(worker: str) -> dict[str, str]:
    return json.loads(re.search(r"const FILES = (\{.*?\});", worker)[1])


def test_the_worker_lists_what_pages_need(site: Path):
    files = listed_in((site / "sw.js").read_text("utf-8"))
    assert {"book/index.html", "book/palm.html", "_static/site.css", "_static/math.woff2"} <= {
        *files
    }
    models = [name for name in files if name.startswith("_static/models/")]
    assert {"bert/model.safetensors", "palm/config.json", "translator/tokenizer.json"} <= {
        name.removeprefix("_static/models/") for name in models
    }
    assert all((site / name).is_file() for name in files)
    assert not [name for name in files if name.startswith("notebooks/") or name.endswith(".map")]
    sizes = (site / "_static" / "offline_sizes.js").read_text("utf-8")
    told = json.loads(re.search(r"\{.*\}", sizes)[0])
    assert told["files"] == len(files)
    stored = sum((site / name).stat().st_size for name in files)
    numbers = sum((site / name).stat().st_size for name in models)  # apenas se comprimen
    assert abs(stored - told["stored"]) < 200
    assert told["download"] - numbers < (stored - numbers) / 3


def test_it_installs_on_a_phone(site: Path):
    said = json.loads((site / "manifest.webmanifest").read_text("utf-8"))
    assert (said["lang"], said["display"], said["scope"]) == ("es", "standalone", "./")
    assert (site / said["start_url"]).is_file()
    for each in said["icons"]:
        with Image.open(site / each["src"]) as image:
            assert f"{image.width}x{image.height}" == each["sizes"]
    assert {"192x192", "512x512"} == {each["sizes"] for each in said["icons"]}


@pytest.fixture
def reader(chromium):
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    yield context
    context.close()


def test_what_was_visited_is_read_without_network(address: str, reader):
    page = reader.new_page()
    page.goto(f"{address}/book/errata.html")
    page.wait_for_selector("html[data-kept]")
    reader.set_offline(True)
    page.reload()
    assert page.locator("article h1").inner_text().startswith("Fe de erratas")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 252, 249)"
    page.goto(f"{address}/book/palm.html")  # Esta no se había abierto.
    assert page.locator("h1").inner_text() == "No hay ninguna página aquí"


def test_the_whole_book_is_kept_when_asked(address: str, reader):
    page = reader.new_page()
    page.goto(f"{address}/book/start.html")
    save = page.get_by_role("button", name=re.compile(r"Guardar el libro .*\(\d+\.\d MB\)"))
    save.press("Enter")
    page.wait_for_selector(f".offline-said:has-text('{WHOLE}')")
    assert save.is_hidden()
    reader.set_offline(True)
    page.goto(f"{address}/book/palm.html")
    assert page.locator("article h1").inner_text().startswith("PaLM")
    page.goto(f"{address}/search.html?q=consultas")
    page.wait_for_selector(".search-summary:has-text('encontradas')")
    reader.set_offline(False)
    page.goto(f"{address}/book/start.html")
    page.get_by_role("button", name="Borrar lo guardado").click()
    save.wait_for(state="visible")
    assert page.locator(f"text={WHOLE}").count() == 0


def test_a_new_version_keeps_what_did_not_change(site: Path, reader):
    """Otra versión del libro: lo igual pasa a ella, lo que cambió se vuelve a pedir."""
    worker = (site / "sw.js").read_text("utf-8")
    digest = listed_in(worker)["book/errata.html"]
    newer = worker.replace(digest, "0" * 12).replace('VERSION = "', 'VERSION = "nueva')
    published = [worker]

    class Published(SimpleHTTPRequestHandler):
        def log_message(self, *args) -> None:
            pass

        def do_GET(self) -> None:
            if self.path != "/sw.js":
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript")
            self.end_headers()
            return self.wfile.write(published[-1].encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Published, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    page = reader.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/book/errata.html")
    page.wait_for_selector("html[data-kept]")
    published.append(newer)
    kept = page.evaluate("""async () => {
      const all = navigator.serviceWorker;
      const changed = new Promise(done => all.addEventListener("controllerchange", done));
      await (await all.ready).update();
      await changed;
      while ((await caches.keys()).length > 1) await new Promise(done => setTimeout(done, 50));
      const [key] = await caches.keys();
      const names = (await (await caches.open(key)).keys()).map(r => new URL(r.url).pathname);
      return [key, names];
    }""")
    server.shutdown()
    assert kept[0].startswith("course-nueva")
    assert "/_static/site.css" in kept[1] and "/book/errata.html" not in kept[1]
