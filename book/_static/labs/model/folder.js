// Un modelo guardado: su configuración, sus textos y sus pesos, de la carpeta que sirve el sitio.

export class Folder {
  // `tell` recibe qué parte de los pesos ha llegado, de 0 a 1.
  constructor(address, version, tell = () => {}) {
    [this.address, this.version, this.tell] = [address, version, tell];
  }

  async get(name) {
    const response = await fetch(new URL(`${name}?v=${this.version}`, this.address));
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    return response;
  }

  async json(name) {
    return (await this.get(name)).json();
  }

  async text(name) {
    return (await this.get(name)).text();
  }

  async tensors() {
    const response = await this.get("model.safetensors"), reader = response.body.getReader(), parts = [];
    const whole = Number(response.headers.get("content-length"));
    for (let got = 0, { value } = await reader.read(); value; { value } = await reader.read()) {
      parts.push(value);
      got += value.length;
      this.tell(Math.min(got / whole, 1));
    }
    return readTensors(await new Blob(parts).arrayBuffer());
  }
}

// safetensors: el tamaño de la cabecera, la cabecera en JSON (tipo, forma y lugar de cada tensor) y los números.
export function readTensors(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const { __metadata__, ...named } = header;
  return new Map(Object.entries(named).map(([name, { dtype, shape, data_offsets: [from, to] }]) => {
    const bytes = buffer.slice(8 + length + from, 8 + length + to);
    return [name, { shape, data: NUMBERS[dtype](bytes) }];
  }));
}

const NUMBERS = {
  F32: (bytes) => new Float32Array(bytes),
  F16: (bytes) => {
    const bits = new Uint16Array(bytes), numbers = new Float32Array(bits.length), known = halves();
    for (let i = 0; i < bits.length; i++) numbers[i] = known[bits[i]];
    return numbers;
  },
};

let table = null;

// El número de cada uno de los 65536 patrones de float16.
function halves() {
  table ??= Float32Array.from({ length: 65536 }, (_, bits) => half(bits));
  return table;
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}
