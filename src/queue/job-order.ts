/** An element with a due time; of two with the same time the one with the lower order comes first. */
export interface Due {
  readonly runAt: number;
  readonly order: number;
}

/** A binary heap: the next due element on top. */
export class DueHeap<T extends Due> {
  readonly #elements: T[] = [];

  get size(): number {
    return this.#elements.length;
  }

  /** The next one, without taking it. */
  get top(): T | undefined {
    return this.#elements[0];
  }

  add(element: T): void {
    const elements = this.#elements;
    let at = elements.push(element) - 1;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!isBefore(element, elements[parent])) break;
      elements[at] = elements[parent];
      at = parent;
    }
    elements[at] = element;
  }

  /** Takes the next one. */
  take(): T | undefined {
    const elements = this.#elements;
    const top = elements[0];
    const last = elements.pop();
    if (last === undefined || elements.length === 0) return top;
    let at = 0;
    for (let child = 1; child < elements.length; child = 2 * at + 1) {
      if (child + 1 < elements.length && isBefore(elements[child + 1], elements[child])) child++;
      if (!isBefore(elements[child], last)) break;
      elements[at] = elements[child];
      at = child;
    }
    elements[at] = last;
    return top;
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.runAt !== b.runAt ? a.runAt < b.runAt : a.order < b.order;
}

/** A queue, first in, first out. `take` is O(1): the array is shortened only now and then. */
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
