/** Names as small numbers: each is held once, for as long as anything refers to it. */
export class Names {
  readonly #places = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #references: number[] = [];
  readonly #free: number[] = [];

  /** The number of this name, for one more reference to it. */
  retain(name: string): number {
    const known = this.#places.get(name);
    if (known !== undefined) {
      this.#references[known]++;
      return known;
    }
    const place = this.#free.pop() ?? this.#names.length;
    this.#names[place] = name;
    this.#references[place] = 1;
    this.#places.set(name, place);
    return place;
  }

  /** One reference less; nobody may use the number after the last one. */
  release(place: number): void {
    if (--this.#references[place] > 0) return;
    this.#places.delete(this.#names[place]);
    this.#free.push(place);
  }

  at(place: number): string {
    return this.#names[place];
  }
}
