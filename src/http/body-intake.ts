import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { Context } from 'hono';
import { ArrivingBody, type Pace } from './arriving-body.ts';
import { tooLarge, tooManyBodies } from './body-problems.ts';
import type { BodyLimits, JsonList } from './json-scanner.ts';

const MB = 1024 * 1024;

export interface IntakeOptions {
  /** Bytes of all bodies that are being read or worked on. */
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
/** What is parsed of a body can take ten times its size: of larger ones two are worked on at a time. */
const HEAVY_BYTES = MB;
const HEAVY_AT_WORK = 2;

/** A body that is here, and counts until it is released. */
export interface HeldBody {
  readonly bytes: Uint8Array;
  readonly lists: readonly JsonList[];
  release(): void;
}

/** Takes in the bodies of all requests of this process, and counts them by bytes, not by requests. */
export class BodyIntake {
  readonly #maxHeld: number;
  readonly #pace: Pace;
  readonly #heavyWaiting: (() => void)[] = [];
  #heavyAtWork = 0;
  #held = 0;

  constructor({ maxHeldBytes = MAX_HELD_BYTES, pace = PACE }: IntakeOptions = {}) {
    this.#maxHeld = maxHeldBytes;
    this.#pace = pace;
  }

  /** Bytes of memory that all bodies hold. */
  get held(): number {
    return this.#held;
  }

  /** Reads a body to its end; `release` has to follow. @throws Problem as soon as it is too much or too slow. */
  async read(context: Context, limits: BodyLimits): Promise<HeldBody> {
    if (Number(context.req.header('content-length') ?? 0) > limits.bytes) throw tooLarge(limits.bytes);
    const body = new ArrivingBody(limits, (before, after) => this.#takeRoom(before, after));
    this.#takeRoom(0, BASE_BYTES);
    const giveBack = (): void => {
      this.#held -= BASE_BYTES + body.room;
    };
    try {
      const source = sourceOf(context);
      if (source !== null) await body.readFrom(source, this.#pace);
    } catch (error) {
      giveBack();
      throw error;
    }
    const { lists } = body.scanner;
    if (body.bytes.length <= HEAVY_BYTES) return { bytes: body.bytes, lists, release: giveBack };
    await this.#heavyTurn();
    const release = (): void => {
      giveBack();
      this.#endHeavy();
    };
    return { bytes: body.bytes, lists, release };
  }

  #takeRoom(before: number, after: number): void {
    const most = after <= SMALL_BYTES ? this.#maxHeld : this.#maxHeld * SHARE_OF_LARGE;
    if (this.#held + after - before > most) throw tooManyBodies(this.#held / MB);
    this.#held += after - before;
  }

  async #heavyTurn(): Promise<void> {
    if (this.#heavyAtWork < HEAVY_AT_WORK) this.#heavyAtWork++;
    else await new Promise<void>((resolve) => this.#heavyWaiting.push(resolve));
  }

  /** Hands the place on to whoever waits longest. */
  #endHeavy(): void {
    const next = this.#heavyWaiting.shift();
    if (next === undefined) this.#heavyAtWork--;
    else next();
  }
}

/** Where the bytes come from: Node itself, or whoever asks the app without a server. */
function sourceOf({ env, req }: Context): Readable | null {
  const { incoming } = (env ?? {}) as { readonly incoming?: IncomingMessage };
  if (incoming !== undefined) return incoming;
  return req.raw.body === null ? null : Readable.fromWeb(req.raw.body as ReadableStream);
}
