const COULD_NOT_CLOSE = 'a part of the service could not be closed';

/** Closes what was opened in the opposite order: each part once, and also when another one cannot be closed. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];
  readonly #onError: (message: string, error: unknown) => void;

  constructor(onError: (message: string, error: unknown) => void) {
    this.#onError = onError;
  }

  /** What is added later is closed earlier. */
  readonly add = (close: () => unknown): void => {
    this.#closers.push(close);
  };

  /** @throws the first error, when everything was tried; further ones are reported to `onError` */
  readonly close = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    const [first, ...others] = errors;
    for (const error of others) this.#onError(COULD_NOT_CLOSE, error);
    if (errors.length > 0) throw first;
  };

  /** Returns what `open` returns. If that throws, closes what was added and throws its error, whatever closing throws. */
  async during<Opened>(open: () => Promise<Opened>): Promise<Opened> {
    try {
      return await open();
    } catch (error) {
      await this.close().catch((fault) => this.#onError(COULD_NOT_CLOSE, fault));
      throw error;
    }
  }
}
