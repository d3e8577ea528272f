import { createHash } from 'node:crypto';
import { CONTEXT_FEATURES } from '../../../bandit/ranking/context-features.ts';
import { packDocument, unpackDocument } from '../../storage/packed-document.ts';

/** Examples that are kept of a user: the newest. */
export const MOST_EXAMPLES = 20;
/** What is said of an item, by bit. */
export const [USED, SHOWN] = [1, 2];

const TAG = 0x78;
const VERSION = 1;
const FEATURES = CONTEXT_FEATURES.length;
const NAMES = createHash('sha256').update(CONTEXT_FEATURES.join('\n')).digest('hex').slice(0, 16);

/** What a report said of the items of a user: which were used, among those that were there. No text, and no name of an item. */
export interface ContextExample {
  /** The decision, of which there is one example. */
  readonly decision: string;
  /** When it was made, ms since the epoch. */
  readonly at: number;
  /** By item: `USED` and `SHOWN`. n numbers. */
  readonly said: Uint8Array;
  /** `CONTEXT_FEATURES` of the items before the use, n × d. */
  readonly features: Float32Array;
}

/** The examples of one user, oldest first, at most 20: of one embedder, and of the features that this version computes. */
export class UserExamples {
  #fingerprint: string | null = null;
  #all: ContextExample[] = [];

  get fingerprint(): string | null {
    return this.#fingerprint;
  }

  get all(): readonly ContextExample[] {
    return this.#all;
  }

  /** Keeps an example in place of the oldest one; those of another embedder go. Of a decision that has one it does nothing, and returns false. */
  add(example: ContextExample, fingerprint: string): boolean {
    if (this.#fingerprint !== fingerprint) this.#all = [];
    if (this.#all.some(({ decision }) => decision === example.decision)) return false;
    this.#fingerprint = fingerprint;
    this.#all = [...this.#all, example].slice(-MOST_EXAMPLES);
    return true;
  }

  /** 16 bits a feature, the upper half of the float: as fine as the bins of the trees. */
  pack(): Buffer {
    const json = {
      ...{ version: VERSION, names: NAMES, fingerprint: this.#fingerprint },
      decisions: this.#all.map(({ decision }) => decision),
    };
    const floats = this.#all.flatMap(({ features }) => [...features]);
    const words = new Uint32Array(Float32Array.from(floats).buffer);
    const halves = Uint16Array.from(words, (word) => (word + 0x8000) >>> 16);
    return packDocument(TAG, json, [
      Float64Array.from(this.#all, ({ at }) => at),
      Uint32Array.from(this.#all, ({ said }) => said.length),
      Uint8Array.from(this.#all.flatMap(({ said }) => [...said])),
      new Uint8Array(halves.buffer),
    ]);
  }

  /**
   * None, if another version of Bandolier, or of the features, wrote them: nothing can be learned from them.
   * @param bytes null: none were kept
   */
  static unpack(bytes: Uint8Array | null): UserExamples {
    const examples = new UserExamples();
    if (bytes === null) return examples;
    const { json, arrays } = unpackDocument(TAG, bytes);
    const { version, names, fingerprint, decisions } = json as {
      readonly version: number;
      readonly names: string;
      readonly fingerprint: string | null;
      readonly decisions: readonly string[];
    };
    if (version !== VERSION || names !== NAMES) return examples;
    const [times, counts, said, packed] = arrays as [Float64Array, Uint32Array, Uint8Array, Uint8Array];
    const halves = new Uint16Array(packed.buffer, packed.byteOffset, packed.byteLength / 2);
    const features = new Float32Array(Uint32Array.from(halves, (half) => half * 0x10000).buffer);
    let row = 0;
    examples.#fingerprint = fingerprint;
    examples.#all = decisions.map((decision, at) => {
      const end = row + counts[at];
      const own = { said: said.slice(row, end), features: features.slice(row * FEATURES, end * FEATURES) };
      row = end;
      return { decision, at: times[at], ...own };
    });
    return examples;
  }
}

/** The examples of a user as they are exported. */
export interface ExportedExamples {
  /** What the numbers of an item are called. */
  readonly features: readonly string[];
  readonly examples: readonly {
    readonly at: number;
    /** Features: null where nothing is known. */
    readonly items: readonly {
      readonly used: boolean;
      readonly shown: boolean;
      readonly features: readonly (number | null)[];
    }[];
  }[];
}

export function exported(examples: readonly ContextExample[]): ExportedExamples {
  return {
    features: CONTEXT_FEATURES,
    examples: examples.map(({ at, said, features }) => ({
      at,
      items: Array.from(said, (bits, row) => ({
        used: (bits & USED) !== 0,
        shown: (bits & SHOWN) !== 0,
        features: Array.from(features.subarray(row * FEATURES, (row + 1) * FEATURES), (value) =>
          Number.isNaN(value) ? null : value,
        ),
      })),
    })),
  };
}
