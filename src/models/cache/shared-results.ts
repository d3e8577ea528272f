interface SharedResult<Value> {
  readonly value: Promise<Value>;
  readonly stop: AbortController;
  /** Number of callers that have not given up. */
  callers: number;
  /** 0 until the value is there. */
  weight: number;
}

/** Keeps the latest results by key, up to a weight. Calls for a result that is being computed share it. */
export class SharedResults<Value> {
  readonly #limit: number;
  readonly #weightOf: (value: Value, key: string) => number;
  /** In order of last use. */
  readonly #results = new Map<string, SharedResult<Value>>();
  #weight = 0;

  /** @param weightOf returns the share of `limit` that a value takes; Infinity: it is not kept. Absent: results are counted. */
  constructor(limit: number, weightOf: (value: Value, key: string) => number = () => 1) {
    this.#limit = limit;
    this.#weightOf = weightOf;
  }

  /** Weight of all results that are kept. */
  get weight(): number {
    return this.#weight;
  }

  /** Returns whether there is a result, or one is being computed. */
  has(key: string): boolean {
    return this.#results.has(key);
  }

  /**
   * Returns the result of `compute`, of this call or of an earlier one with the same key. Failures are not kept.
   * @param compute may reject when `stop` aborts: no caller wants the result any more.
   */
  async get(
    key: string,
    compute: (stop: AbortSignal) => Promise<Value>,
    signal?: AbortSignal,
  ): Promise<Value> {
    const result = this.#results.get(key) ?? this.#begin(key, compute);
    this.#results.delete(key);
    this.#results.set(key, result);
    if (signal === undefined) {
      result.callers = Infinity;
      return result.value;
    }
    result.callers++;
    const giveUp = (): void => {
      if (--result.callers > 0) return;
      this.#forget(key, result);
      result.stop.abort(signal.reason);
    };
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await result.value;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  #begin(key: string, compute: (stop: AbortSignal) => Promise<Value>): SharedResult<Value> {
    const stop = new AbortController();
    const result: SharedResult<Value> = { value: compute(stop.signal), stop, callers: 0, weight: 0 };
    result.value.then(
      (value) => this.#weigh(key, result, this.#weightOf(value, key)),
      () => this.#forget(key, result),
    );
    return result;
  }

  #weigh(key: string, result: SharedResult<Value>, weight: number): void {
    if (this.#results.get(key) !== result) return;
    if (weight > this.#limit) {
      this.#forget(key, result);
      return;
    }
    result.weight = weight;
    this.#weight += weight;
    for (const [oldest, its] of this.#results) {
      if (this.#weight <= this.#limit) break;
      this.#forget(oldest, its);
    }
  }

  #forget(key: string, result: SharedResult<Value>): void {
    if (this.#results.get(key) !== result) return;
    this.#results.delete(key);
    this.#weight -= result.weight;
  }
}
