// Ordena y filtra la tabla de estudiantes. Lee lo que la página ya dice; no pide ni escribe nada más.
(() => {
  const table = document.getElementById("students");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const names = new Map(rows.map((row) => [row, plain(row.cells[0].textContent)]));
  const collator = new Intl.Collator("es", { numeric: true });

  const value = (row, column) => row.cells[column].dataset.value;
  const compare = (column) => (a, b) => {
    const [x, y] = [value(a, column), value(b, column)];
    if (x === undefined) return collator.compare(names.get(a), names.get(b));
    return Number(x) - Number(y);
  };

  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const before = header.getAttribute("aria-sort");
      // Los números, primero de mayor a menor; los nombres, por orden alfabético.
      const first = column === 0 ? "ascending" : "descending";
      const other = column === 0 ? "descending" : "ascending";
      const order = before === first ? other : first;
      headers.forEach((each) => each.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      rows.sort((a, b) => sign * compare(column)(a, b));
      body.append(...rows);
    });
  });
  headers[0].setAttribute("aria-sort", "ascending");

  const box = document.getElementById("filter");
  const field = box.querySelector("input");
  const told = box.querySelector("[role=status]");
  const show = () => {
    const wanted = plain(field.value.trim());
    let seen = 0;
    for (const row of rows) {
      row.hidden = !names.get(row).includes(wanted);
      seen += row.hidden ? 0 : 1;
    }
    told.textContent = wanted ? `Se muestran ${seen} de ${rows.length}.` : "";
  };
  field.addEventListener("input", show);
  box.hidden = false;
})();
