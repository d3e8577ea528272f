import { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { Context } from 'hono';
import { brokenOff, tooLarge, tooManyBodies, tooSlow } from './body-problems.ts';
import { type BodyLimits, type JsonList, JsonScanner } from './json-scanner.ts';

const MB = 1024 * 1024;

export interface IntakeOptions {
  /** Bytes of all bodies that are being read or worked on, and of what is parsed of them. */
  readonly maxHeldBytes?: number;
  readonly pace?: Pace;
}

const MAX_HELD_BYTES = 256 * MB;
const PACE: Pace = { bytesPerSecond: 64 * 1024, graceSeconds: 10 };
/** Bodies up to here still find room where there is none for larger ones. */
const SMALL_BYTES = 64 * 1024;
const SHARE_OF_LARGE = 0.75;
/** What a request costs beside its bytes. */
const BASE_BYTES = 4 * 1024;
/** Memory of one parsed value, beside the text of names and strings: as measured for objects of short, different names. */
const VALUE_BYTES = 64;

/** A body that is here, and counts until it is released. */
export interface HeldBody {
  readonly bytes: Uint8Array;
  readonly lists: readonly JsonList[];
  release(): void;
}

/**
 * Takes in the bodies of all requests of this process, and counts them by the memory that they need, not by requests.
 * No request waits for room, since others may hold it while they wait for other machines: without room it is refused.
 */
export class BodyIntake {
  readonly #maxHeld: number;
  readonly #pace: Pace;
  #held = 0;

  constructor({ maxHeldBytes = MAX_HELD_BYTES, pace = PACE }: IntakeOptions = {}) {
    this.#maxHeld = maxHeldBytes;
    this.#pace = pace;
  }

  /** Bytes of memory that all bodies need. */
  get held(): number {
    return this.#held;
  }

  /** Reads a body to its end; `release` has to follow. @throws Problem as soon as it is too much or too slow. */
  async read(context: Context, limits: BodyLimits): Promise<HeldBody> {
    if (Number(context.req.header('content-length') ?? 0) > limits.bytes) throw tooLarge(limits.bytes);
    let room = 0;
    const take = (more: number, size: number): void => {
      this.#takeRoom(more, size);
      room += more;
    };
    const body = new ArrivingBody(limits, (before, after) => take(after - before, after));
    const release = (): void => {
      this.#held -= room;
    };
    try {
      take(BASE_BYTES, 0);
      const source = sourceOf(context);
      if (source instanceof IncomingMessage && isHere(source)) body.take(source);
      else if (source !== null) await body.readFrom(source, this.#pace);
      take(body.bytes.length + body.scanner.values * VALUE_BYTES, body.room);
    } catch (error) {
      release();
      throw error;
    }
    return { bytes: body.bytes, lists: body.scanner.lists, release };
  }

  /** @param size of the body, in memory */
  #takeRoom(more: number, size: number): void {
    const most = size <= SMALL_BYTES ? this.#maxHeld : this.#maxHeld * SHARE_OF_LARGE;
    if (this.#held + more > most) throw tooManyBodies(this.#held / MB);
    this.#held += more;
  }
}

/** The bytes as Node reads them, or those of a `Request` where the app is asked without a server. */
function sourceOf({ env, req }: Context): Readable | null {
  const { incoming } = (env ?? {}) as { readonly incoming?: IncomingMessage };
  if (incoming !== undefined) return incoming;
  return req.raw.body === null ? null : Readable.fromWeb(req.raw.body as ReadableStream);
}

/**
 * Whether Node has all of a body, as it has of small ones: they come in one packet with their heads. It says so only a
 * little later (`complete`), unless the head says how long the body is.
 */
export function isHere({ complete, destroyed, headers, readableLength }: IncomingMessage): boolean {
  return !destroyed && (complete || readableLength === Number(headers['content-length']));
}

/** How slowly a body may come. */
export interface Pace {
  /** It has to come with this rate… */
  readonly bytesPerSecond: number;
  /** … but not in the first seconds. */
  readonly graceSeconds: number;
}

/** Asks for room to hold a body. @throws Problem when there is none. */
export type TakeRoom = (before: number, after: number) => void;

const NOTHING = new Uint8Array();

/** A body while it is being read: all of it so far, in one piece of memory, and looked at already. */
export class ArrivingBody {
  readonly scanner: JsonScanner;
  readonly #limits: BodyLimits;
  readonly #takeRoom: TakeRoom;
  #memory: Uint8Array = NOTHING;
  #bytes: Uint8Array = NOTHING;

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
    if (start === 0 && chunk.length === chunk.buffer.byteLength) {
      this.#takeRoom(0, length);
      this.#memory = chunk;
      this.#bytes = chunk;
    } else {
      if (length > this.#memory.length) this.#growTo(length);
      // Copied, since even the smallest chunk may keep all of the packet in memory that it came in.
      this.#memory.set(chunk, start);
      this.#bytes = this.#memory.subarray(0, length);
    }
    this.scanner.scan(this.#bytes);
  }

  /** Takes in a body that Node has already. @throws Problem when it is too large. */
  take(source: IncomingMessage): void {
    const bytes: Uint8Array | null = source.read();
    // So that it ends, and the connection is free for the next request.
    source.resume();
    if (bytes !== null) this.add(bytes);
  }

  /** Reads to the end. @throws Problem as soon as the body is too large, too slow, or broken off. */
  readFrom(source: Readable, pace: Pace): Promise<void> {
    return new Promise((resolve, reject) => {
      if (source.closed) throw brokenOff(source.errored); // it does not say so again
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
