import { softmax } from "./layers.js";

const breathe = () => new Promise((done) => setTimeout(done)); // entre token y token, la página atiende a quien la usa

// Escribe token a token: los de `forced` y después el más probable, hasta el fin.
export async function* write(model, source, { forced = [], most }) {
  let { start_id: last, end_id: end } = model.config, state = model.start(source);
  for (let i = 0; i < most && last !== end; i++) {
    await breathe();
    const found = model.step(last, state);
    const shares = softmax(found.logits);
    last = forced[i] ?? best(shares, 1)[0];
    state = found.state;
    yield { id: last, shares, cross: found.cross };
  }
}

// Los `count` tokens más probables, de más a menos.
export function best(shares, count) {
  const found = [];
  for (let k = 0; k < Math.min(count, shares.length); k++) {
    let top = -1;
    shares.forEach((share, id) => { if (!found.includes(id) && (top < 0 || share > shares[top])) top = id; });
    found.push(top);
  }
  return found;
}

const divisor = (length, penalty) => ((5 + length) / 6) ** penalty;

// La búsqueda en haz de course_lib/decoding/beam.py: las `size` mejores, definitivas, de mejor a peor.
export async function beam(model, source, { size, penalty = 0.6, most }) {
  const { start_id: start, end_id: end } = model.config;
  let open = [{ ids: [], total: 0, state: model.start(source) }], finished = [];
  for (let length = 1; length <= most && open.length; length++) {
    const grown = [];
    for (const { ids, total, state } of open) {
      await breathe();
      const found = model.step(ids.at(-1) ?? start, state), shares = softmax(found.logits);
      for (const id of best(shares, size)) grown.push({ ids: [...ids, id], total: total + Math.log(shares[id]), state: found.state });
    }
    const kept = grown.sort((a, b) => b.total - a.total).slice(0, size);
    const score = (each) => ({ ...each, score: each.total / divisor(length, penalty) });
    finished = [...finished, ...kept.filter(({ ids }) => ids.at(-1) === end).map(score)].sort((a, b) => b.score - a.score).slice(0, size);
    open = kept.filter(({ ids }) => ids.at(-1) !== end);
    if (length === most) finished = [...finished, ...open.map(score)].slice(0, size);
    const bound = (open[0]?.total ?? -Infinity) / divisor(most, penalty);
    if (finished.length === size && bound <= finished[size - 1].score) break;
  }
  return finished.map(({ ids, score }) => ({ ids, score }));
}
