"""Lo que sabe el libro ya construido: números, títulos, citas y código, en Markdown."""

import base64
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import urljoin

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util import docname_join
from sphinx.util.nodes import split_explicit_title

from .diagrams import FIGURES, SVG
from .listings import ListingReader
from .screens import STATIC, page_size, versions

DOMAINS = {"term": "std", "ref": "std", "doc": "std", "numref": "std", "eq": "math"}
# Una imagen no hereda la tipografía ni el fondo de la página en la que está.
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
MARGIN = 14


class BuiltBook:
    """Responde por una página del sitio (el `Book` de `portable`).

    Con `site`, la dirección del sitio publicado, los textos llevan enlaces y los dibujos se toman
    de allí, porque Colab no muestra un SVG incrustado; sin ella todo va dentro del cuaderno.
    """

    def __init__(self, app: Sphinx, docname: str, site: str | None, figures: str) -> None:
        self.app, self.env, self.docname = app, app.env, docname
        self.site, self.figures = site, figures

    def role(self, name: str, content: str) -> str:
        """El texto de un rol como lo muestra la página, con su enlace si hay adónde."""
        if name == "download":  # el cuaderno trae la biblioteca, y el archivo va en ella
            return f"`{split_explicit_title(content)[1]}`"
        if name == "record":
            return split_explicit_title(content)[1]
        domain, _, kind = name.rpartition(":")
        domain = domain or DOMAINS.get(name)
        if domain is None:
            raise ValueError(f"el rol {{{name}}} no tiene conversión para los cuadernos")
        explicit, title, target = split_explicit_title(content)
        text = nodes.inline(title, title)
        reference = pending_xref("", text, refdomain=domain, reftype=kind, reftarget=target)
        reference["refdoc"], reference["refexplicit"] = self.docname, explicit
        found = self._resolve(domain, kind, target, reference, text)
        result = self._markdown(found if found is not None else text)
        quoted = kind in {"doc", "ref"} and not (explicit or self.site)
        return f"«{result}»" if quoted else result

    def _resolve(self, domain: str, kind: str, target: str, reference, text):
        return self.env.domains[domain].resolve_xref(
            self.env, self.docname, self.app.builder, kind, target, reference, text
        )

    def _markdown(self, node: nodes.Node) -> str:
        if isinstance(node, nodes.Text):
            return node.astext()
        text = "".join(map(self._markdown, node.children))
        if self.site and isinstance(node, nodes.reference):
            address = node.get("refuri") or f"#{node['refid']}"
            return f"[{text}]({self._absolute(address)})"
        return text

    def _absolute(self, address: str) -> str:
        return urljoin(f"{self.site}{self.docname}.html", address)

    def link(self, address: str) -> str | None:
        """La dirección publicada de un enlace a una página o a una etiqueta del libro."""
        page = docname_join(self.docname, address.removesuffix(".md"))
        if self.site and page in self.env.all_docs:
            return f"{self.site}{page}.html"
        docname, anchor = self.env.get_domain("std").anonlabels.get(address, ("", ""))
        return f"{self.site}{docname}.html#{anchor}" if self.site and docname else None

    def equation(self, label: str) -> str:
        return str(self.env.get_domain("math").get_equation_number_for(label))

    def figure(self, label: str) -> str:
        """«Figura 3», como en la página."""
        return self.env.config.numfig_format["figure"] % self._figure_number(label)

    def _figure_number(self, label: str) -> str:
        docname, anchor = self.env.get_domain("std").anonlabels[label]
        return ".".join(map(str, self.env.toc_fignumbers[docname]["figure"][anchor]))

    def code(self, path: str, options: dict[str, str]) -> str:
        _, file = self.env.relfn2path(path, self.docname)
        return ListingReader(file, options, self.env.config).read()[0]

    def image(self, diagram: str) -> tuple[str, int]:
        """La dirección de un dibujo y su ancho."""
        markup, width = standalone(Path(self.env.srcdir) / FIGURES / f"{diagram}.svg")
        if self.site is None:
            data = base64.b64encode(markup.encode()).decode()
            return f"data:image/svg+xml;base64,{data}", width
        target = Path(self.app.outdir) / self.figures / f"{diagram}.svg"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(markup, encoding="utf-8")
        return f"{self.site}{self.figures}/{diagram}.svg", width

    def screen(self, name: str) -> tuple[str, int]:
        """La dirección de una captura, la clara si hay dos, y su ancho."""
        folder = Path(self.env.srcdir) / STATIC
        file = versions(folder, name)[0][0]
        width, _ = page_size(folder / file)
        if self.site is not None:
            return f"{self.site}_static/{file}", width
        data = base64.b64encode((folder / file).read_bytes()).decode()
        return f"data:image/webp;base64,{data}", width


def standalone(path: Path) -> tuple[str, int]:
    """El dibujo como archivo aparte y su ancho: sobre fondo blanco, se lee en claro y en oscuro."""
    ET.register_namespace("", SVG)
    root = ET.parse(path).getroot()
    x, y, width, height = map(float, root.get("viewBox").replace(",", " ").split())
    x, y, width, height = x - MARGIN, y - MARGIN, width + 2 * MARGIN, height + 2 * MARGIN
    box = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}"}
    root.attrib.pop("style", None)
    root.attrib |= {"viewBox": " ".join(box.values()), "color": "#1a1a1a", "font-family": FONT}
    root.attrib |= {"width": box["width"], "height": box["height"]}
    root.insert(0, ET.Element(f"{{{SVG}}}rect", {**box, "rx": "10", "fill": "#fff"}))
    return ET.tostring(root, encoding="unicode"), round(width)
