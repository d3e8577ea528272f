/** Writes numbers and bytes one after the other into a buffer that is reused: `take` empties it. */
export class ByteWriter {
  #buffer = Buffer.allocUnsafeSlow(1024);
  #length = 0;

  u8(value: number): void {
    this.#room(1);
    this.#buffer[this.#length++] = value;
  }

  u32(value: number): void {
    this.#room(4);
    this.#length = this.#buffer.writeUInt32LE(value, this.#length);
  }

  f64(value: number): void {
    this.#room(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
  }

  /** Writes an integer from 0 to 2⁵³ − 1 in as few bytes as it takes: seven bits each, the lowest first. */
  count(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.u8((rest % 0x80) | 0x80);
    this.u8(rest);
  }

  f32s(values: Float32Array): void {
    this.count(values.length);
    this.bytes(Buffer.from(values.buffer, values.byteOffset, values.byteLength));
  }

  text(text: string): void {
    const length = Buffer.byteLength(text);
    this.count(length);
    this.#room(length);
    this.#length += this.#buffer.write(text, this.#length);
  }

  /** Writes an even number of hex digits. */
  hex(digits: string): void {
    this.#room(digits.length / 2);
    this.#length += this.#buffer.write(digits, this.#length, 'hex');
  }

  /** Returns what it wrote, not a copy: valid until something else is written. */
  bytes(bytes: Uint8Array): Buffer {
    this.#room(bytes.length);
    const start = this.#length;
    this.#buffer.set(bytes, start);
    this.#length += bytes.length;
    return this.#buffer.subarray(start, this.#length);
  }

  /** Returns what was written, not a copy: valid until something else is written. */
  take(): Buffer {
    const written = this.#buffer.subarray(0, this.#length);
    this.#length = 0;
    return written;
  }

  #room(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const longer = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    longer.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = longer;
  }
}

/** Reads what a ByteWriter wrote, in the same order. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#at++);
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#past(4));
  }

  f64(): number {
    return this.#bytes.readDoubleLE(this.#past(8));
  }

  count(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  f32s(): Float32Array {
    const values = new Float32Array(this.count());
    new Uint8Array(values.buffer).set(this.bytes(values.byteLength));
    return values;
  }

  text(): string {
    return this.bytes(this.count()).toString();
  }

  hex(bytes: number): string {
    return this.bytes(bytes).toString('hex');
  }

  bytes(length: number): Buffer {
    const start = this.#past(length);
    return this.#bytes.subarray(start, start + length);
  }

  #past(bytes: number): number {
    const start = this.#at;
    this.#at += bytes;
    return start;
  }
}
