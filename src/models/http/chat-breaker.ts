export interface ChatBreakerOptions {
  /** ms of a clock that never jumps. */
  steadyNow(): number;
  /** Is called when the endpoint stops giving usable answers, and when it gives them again. */
  onChange?(available: boolean, reason: string): void;
}

/** Failures in a row after which the endpoint is not asked for some time, so that requests do not wait for its timeout. */
const FAILURES_BEFORE_REST = 3;
const REST_MS = 10_000;

/** Knows when a chat endpoint that keeps failing is to be left alone. */
export class ChatBreaker {
  readonly #options: ChatBreakerOptions;
  #failures = 0;
  #restsUntil = Number.NEGATIVE_INFINITY;

  constructor(options: ChatBreakerOptions) {
    this.#options = options;
  }

  /** Why the endpoint is not to be asked now; null: it may be. */
  get rests(): string | null {
    return this.#options.steadyNow() < this.#restsUntil
      ? `the chat endpoint failed ${this.#failures} times in a row and is not asked for now`
      : null;
  }

  succeeded(): void {
    if (this.#failures > 0) this.#options.onChange?.(true, 'answers again');
    this.#failures = 0;
  }

  failed(reason: string): void {
    if (++this.#failures === 1) this.#options.onChange?.(false, reason);
    if (this.#failures >= FAILURES_BEFORE_REST) this.#restsUntil = this.#options.steadyNow() + REST_MS;
  }
}
