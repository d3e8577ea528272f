import { type FileHandle, open } from 'node:fs/promises';

/** A file that is open for as long as somebody reads it: those who read at the same time open it once. */
export class SharedHandle {
  readonly #file: string;
  #handle: Promise<FileHandle> | null = null;
  #readers = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** @throws what opening the file throws, and what `read` throws. */
  async use<Result>(read: (handle: FileHandle) => Promise<Result>): Promise<Result> {
    this.#handle ??= open(this.#file, 'r');
    const opening = this.#handle;
    this.#readers++;
    try {
      return await read(await opening);
    } finally {
      this.#readers--;
      if (this.#readers === 0) {
        this.#handle = null;
        await opening.then(
          (handle) => handle.close(),
          () => {},
        );
      }
    }
  }
}
