import { ByteReader, type ByteWriter } from '../../storage/byte-writer.ts';

/** How the bytes of a decision's id begin. */
const AS_TEXT = 0;
const FROM_TIME = 1;
const FROM_KEY = 2;

const TIME_DIGITS = 9;
const PACKED_BYTES = 16;
const ID_OF_TIME = /^[0-9a-z]{9}[0-9a-f]{20}$/;
const ID_OF_KEY = /^k[0-9a-f]{32}$/;

/** Writes the id of a decision of this catalog: 17 bytes if the service gave it out (see decision-id.ts), else as text. */
export function writeDecisionId(writer: ByteWriter, catalog: string, id: string): void {
  const own = id.startsWith(`${catalog}.`) ? id.slice(catalog.length + 1) : '';
  if (ID_OF_TIME.test(own)) {
    const time = Number.parseInt(own.slice(0, TIME_DIGITS), 36);
    writer.u8(FROM_TIME);
    writer.hex(time.toString(16).padStart(12, '0'));
    writer.hex(own.slice(TIME_DIGITS));
  } else if (ID_OF_KEY.test(own)) {
    writer.u8(FROM_KEY);
    writer.hex(own.slice(1));
  } else {
    writer.u8(AS_TEXT);
    writer.text(id);
  }
}

export function readDecisionId(reader: ByteReader, catalog: string): string {
  const form = reader.u8();
  if (form === AS_TEXT) return reader.text();
  const hex = reader.hex(PACKED_BYTES);
  if (form === FROM_KEY) return `${catalog}.k${hex}`;
  const time = Number.parseInt(hex.slice(0, 12), 16).toString(36).padStart(TIME_DIGITS, '0');
  return `${catalog}.${time}${hex.slice(12)}`;
}

/** How many bytes the id takes at the beginning of these. */
export function decisionIdLength(bytes: Buffer): number {
  if (bytes[0] !== AS_TEXT) return 1 + PACKED_BYTES;
  const reader = new ByteReader(bytes, 1);
  const length = reader.count();
  return reader.at + length;
}

/** Gives names small numbers. Each name is kept once, as long as anything refers to it. */
export class Names {
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #references: number[] = [];
  readonly #free: number[] = [];

  /** Returns the number of this name, and counts one more reference to it. */
  retain(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) {
      this.#references[known]++;
      return known;
    }
    const number = this.#free.pop() ?? this.#names.length;
    this.#names[number] = name;
    this.#references[number] = 1;
    this.#numbers.set(name, number);
    return number;
  }

  /** Counts one more reference to a number that is in use. */
  retainNumber(number: number): void {
    this.#references[number]++;
  }

  /** Counts one reference less; the number must not be used after the last one. */
  release(number: number): void {
    if (--this.#references[number] > 0) return;
    this.#numbers.delete(this.#names[number]);
    this.#free.push(number);
  }

  at(number: number): string {
    return this.#names[number];
  }
}
