/** The embeddings of the queries that were asked last; a query that is being embedded is not embedded twice. */
export class QueryCache {
  readonly #limit: number;
  readonly #embed: (text: string) => Promise<Float32Array>;
  /** In order of last use. */
  readonly #vectors = new Map<string, Promise<Float32Array>>();

  constructor(limit: number, embed: (text: string) => Promise<Float32Array>) {
    this.#limit = limit;
    this.#embed = embed;
  }

  get(text: string): Promise<Float32Array> {
    const known = this.#vectors.get(text);
    if (known !== undefined) {
      this.#vectors.delete(text);
      this.#vectors.set(text, known);
      return known;
    }
    const vector = this.#embed(text);
    this.#vectors.set(text, vector);
    for (const oldest of this.#vectors.keys()) {
      if (this.#vectors.size <= this.#limit) break;
      this.#vectors.delete(oldest);
    }
    vector.catch(() => {
      if (this.#vectors.get(text) === vector) this.#vectors.delete(text);
    });
    return vector;
  }
}
