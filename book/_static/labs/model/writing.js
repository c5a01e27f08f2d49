import { softmax } from "./layers.js";

const breathe = () => new Promise((done) => setTimeout(done)); // entre token y token, la página atiende a quien la usa

const mostProbable = (logits, shares) => best(shares, 1)[0];

// Escribe token a token: los de `forced` y después los que elija `choose`, hasta el fin.
export async function* write(model, source, options) {
  const { start_id: last, end_id: end } = model.config;
  yield* proceed(model, { last, end, state: model.start(source) }, options);
}

// Lo mismo, de donde se esté: el último token y el estado que lo espera.
export async function* proceed(model, { last, end, state }, { forced = [], most, choose = mostProbable }) {
  for (let i = 0; i < most && last !== end; i++) {
    await breathe();
    const found = model.step(last, state);
    const shares = softmax(found.logits);
    last = forced[i] ?? choose(found.logits, shares);
    state = found.state;
    yield { id: last, shares, ...found };
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

// Las probabilidades con que se sortea, de course_lib/decoding/sampling.py: la temperatura, después top-k y después top-p.
export function sampling(logits, { temperature = 1, topK = Infinity, topP = 1 }) {
  const shares = softmax(logits.map((z) => z / temperature));
  const order = Array.from(shares.keys()).sort((a, b) => shares[b] - shares[a]).slice(0, topK);
  const whole = order.reduce((sum, id) => sum + shares[id], 0);
  let gathered = 0;
  const kept = order.filter((id) => {
    const enters = gathered < topP * whole;
    gathered += shares[id];
    return enters;
  });
  const total = kept.reduce((sum, id) => sum + shares[id], 0);
  return new Map(kept.map((id) => [id, shares[id] / total]));
}

// La porción donde cae un número de 0 a 1, puestas de mayor a menor.
export function drawn(shares, number) {
  let left = number, last;
  for (const [id, share] of shares) {
    last = id;
    left -= share;
    if (left < 0) break;
  }
  return last;
}

// Números de 0 a 1 que salen siempre iguales de la misma semilla («mulberry32»).
export function luck(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
