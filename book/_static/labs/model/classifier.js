import { Pieces } from "./pieces.js";

// El clasificador de course_lib/models/text_classifier.py: codificador, resumen y capa lineal. Un texto, sin relleno.
export class Classifier {
  constructor(config, tensors) {
    this.config = config;
    const pieces = new Pieces(config, tensors);
    this.embed = pieces.embedding("embedding");
    this.encode = pieces.encoder("encoder");
    this.output = pieces.linear("output");
  }

  // Las puntuaciones de cada clase. De un texto vacío, las de un resumen de ceros.
  score(ids) {
    const encoded = ids.length ? this.encode(ids.map(this.embed)).encoded : [];
    const column = (j) => encoded.map((row) => row[j]), sum = (all) => all.reduce((a, b) => a + b);
    const pool = { max: (all) => Math.max(...all), mean: (all) => sum(all) / all.length }[this.config.pooling];
    return this.output(Float32Array.from({ length: this.config.d_model }, (_, j) => (encoded.length ? pool(column(j)) : 0)));
  }
}
