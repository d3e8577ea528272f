/** First in, first out, without moving the others each time. */
export class Fifo<T> {
  #elements: T[] = [];
  #start = 0;

  get size(): number {
    return this.#elements.length - this.#start;
  }

  add(element: T): void {
    this.#elements.push(element);
  }

  take(): T | undefined {
    if (this.size === 0) return undefined;
    const element = this.#elements[this.#start++];
    if (this.#start > 1024 && this.#start * 2 > this.#elements.length) {
      this.#elements = this.#elements.slice(this.#start);
      this.#start = 0;
    }
    return element;
  }
}
