// Las piezas de los modelos, como en course_lib/layers: un vector es un Float32Array; una secuencia, una lista de ellos.

// y = x Wᵀ + b: W tiene una fila por número de la salida.
export function linear({ data, shape: [rows, columns] }, bias) {
  return (x) => {
    const y = new Float32Array(rows);
    for (let i = 0, at = 0; i < rows; i++) {
      let sum = bias ? bias.data[i] : 0;
      for (let j = 0; j < columns; j++) sum += data[at++] * x[j];
      y[i] = sum;
    }
    return y;
  };
}

// Las filas `from`…`to` de una matriz o de un sesgo, sin copiarlas.
export function rows({ data, shape: [count, ...rest] }, from, to) {
  const width = data.length / count;
  return { shape: [to - from, ...rest], data: data.subarray(from * width, to * width) };
}

export const plus = (x, y) => x.map((value, i) => value + y[i]);

export function softmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = scores.map((score) => Math.exp(score - most));
  const total = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / total);
}

export function layerNorm(scale, shift, eps = 1e-5) {
  return (x) => {
    const mean = x.reduce((a, b) => a + b) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    const size = Math.sqrt(variance + eps);
    return x.map((value, i) => ((value - mean) / size) * scale.data[i] + (shift ? shift.data[i] : 0));
  };
}

export function rmsNorm(scale, eps = 1e-6) {
  return (x) => {
    const size = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / x.length + eps);
    return x.map((value, i) => (value / size) * scale.data[i]);
  };
}

// Complemento de la función de error, con siete cifras (Press et al., «Numerical Recipes», §6.2).
const ERFC = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223];
function erfc(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const small = t * Math.exp(ERFC.reduce((sum, each) => sum * t + each, 0) - x * x);
  return x < 0 ? 2 - small : small;
}

export const ACTIVATIONS = {
  relu: (z) => Math.max(z, 0),
  gelu: (z) => 0.5 * z * erfc(-z / Math.SQRT2),
};

export function feedForward(first, second, activation) {
  return (x) => second(first(x).map(ACTIVATIONS[activation]));
}

// (swish(x W_gate) ⊙ (x W_up)) W_down: las dos primeras matrices van apiladas.
export function swiGLU(gateUp, down) {
  const both = linear(gateUp), out = linear(down), middle = gateUp.shape[0] / 2;
  return (x) => {
    const y = both(x);
    return out(y.subarray(0, middle).map((gate, i) => (gate / (1 + Math.exp(-gate))) * y[middle + i]));
  };
}

// La subcapa f con su conexión residual, según dónde se normaliza.
export function residual(placement, norm, outerNorm) {
  return {
    post: (x, f) => norm(plus(x, f(x))),
    pre: (x, f) => plus(x, f(norm(x))),
    sandwich: (x, f) => plus(x, outerNorm(f(norm(x)))),
  }[placement];
}

// softmax(q Kᵀ / √d_k) V de cada cabeza. Si hay menos claves que cabezas, cada una sirve a un grupo de cabezas seguidas.
export function mix(q, keys, values, heads) {
  const width = q.length / heads, group = q.length / keys[0].length, mixed = new Float32Array(q.length);
  const weights = Array.from({ length: heads }, (_, head) => {
    const from = head * width, own = Math.floor(head / group) * width;
    const scores = new Float32Array(keys.map((k) => {
      let sum = 0;
      for (let j = 0; j < width; j++) sum += q[from + j] * k[own + j];
      return sum / Math.sqrt(width);
    }));
    const A = softmax(scores);
    values.forEach((v, i) => { for (let j = 0; j < width; j++) mixed[from + j] += A[i] * v[own + j]; });
    return A;
  });
  return { mixed, weights };
}

// H = Concat(cabezas) W_h, de una posición que mira a las de `keys` y `values`.
export class Attention {
  constructor(query, key, value, output, heads) {
    Object.assign(this, { query, key, value, output, heads });
  }

  look(x, keys, values) {
    const { mixed, weights } = mix(this.query(x), keys, values, this.heads);
    return { H: this.output(mixed), weights };
  }
}

// Un bloque de codificador: todas las posiciones se ven. Da la secuencia y los pesos, [cabeza][t_q][t_k].
export function encoderBlock({ attention, network, aroundAttention, aroundNetwork, read }, X) {
  const seen = X.map(read), keys = seen.map(attention.key), values = seen.map(attention.value), A = [];
  const H = X.map((x) => aroundAttention(x, (z) => {
    const { H, weights } = attention.look(z, keys, values);
    A.push(weights);
    return H;
  }));
  const weights = A[0].map((_, head) => A.map((each) => each[head]));
  return { X: H.map((x) => aroundNetwork(x, network)), weights };
}
