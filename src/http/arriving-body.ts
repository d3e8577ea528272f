import type { Readable } from 'node:stream';
import { brokenOff, tooLarge, tooSlow } from './body-problems.ts';
import { type BodyLimits, JsonScanner } from './json-scanner.ts';

/** How slowly a body may come. */
export interface Pace {
  /** It has to come with this rate… */
  readonly bytesPerSecond: number;
  /** … but not in the first seconds. */
  readonly graceSeconds: number;
}

/** Asks for room to hold a body. @throws Problem when there is none. */
export type TakeRoom = (before: number, after: number) => void;

/** A body while it is being read: all of it so far, in one piece of memory, and looked at already. */
export class ArrivingBody {
  readonly scanner: JsonScanner;
  readonly #limits: BodyLimits;
  readonly #takeRoom: TakeRoom;
  #memory = new Uint8Array();
  #bytes = new Uint8Array();

  constructor(limits: BodyLimits, takeRoom: TakeRoom) {
    this.scanner = new JsonScanner(limits);
    this.#limits = limits;
    this.#takeRoom = takeRoom;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Bytes of memory that it holds. */
  get room(): number {
    return this.#memory.length;
  }

  /** @throws Problem when the body has become too large. */
  add(chunk: Uint8Array): void {
    const start = this.#bytes.length;
    const length = start + chunk.length;
    if (length > this.#limits.bytes) throw tooLarge(this.#limits.bytes);
    if (length > this.#memory.length) this.#growTo(length);
    // Copied, since even the smallest chunk keeps all of the packet in memory that it came in.
    this.#memory.set(chunk, start);
    this.#bytes = this.#memory.subarray(0, length);
    this.scanner.scan(this.#bytes);
  }

  /** Reads to the end. @throws Problem as soon as the body is too large, too slow, or broken off. */
  readFrom(source: Readable, pace: Pace): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = performance.now();
      const settle = (error?: unknown): void => {
        clearTimeout(timer);
        source.off('data', onData).off('end', settle).off('error', onBreak).off('close', onBreak);
        if (error === undefined) resolve();
        else {
          // Not destroyed: the connection is still needed for the answer.
          source.pause();
          reject(error);
        }
      };
      const onData = (chunk: Uint8Array): void => {
        try {
          this.add(chunk);
        } catch (error) {
          settle(error);
        }
      };
      const onBreak = (cause?: unknown): void => settle(brokenOff(cause));
      const look = (): void => {
        const allowed = pace.graceSeconds + this.#bytes.length / pace.bytesPerSecond;
        const left = start + allowed * 1000 - performance.now();
        if (left <= 0) settle(tooSlow(pace.graceSeconds, pace.bytesPerSecond));
        else timer = setTimeout(look, left);
      };
      let timer = setTimeout(look, pace.graceSeconds * 1000);
      source.on('data', onData).on('end', settle).on('error', onBreak).on('close', onBreak);
    });
  }

  #growTo(length: number): void {
    const room = Math.min(Math.max(length, 2 * this.#memory.length), this.#limits.bytes);
    this.#takeRoom(this.#memory.length, room);
    const memory = Buffer.allocUnsafeSlow(room);
    memory.set(this.#bytes);
    this.#memory = memory;
  }
}
