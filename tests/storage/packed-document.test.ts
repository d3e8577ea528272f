import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { documentTag, packDocument, unpackDocument } from '../../src/storage/packed-document.ts';

const arrays = fc.array(
  fc.oneof(
    fc.float32Array(),
    fc.float64Array(),
    fc.uint32Array(),
    fc.int32Array(),
    // A view in the middle of somebody else's memory.
    fc.float32Array({ minLength: 3 }).map((array) => array.subarray(1, -1)),
  ),
  { maxLength: 8 },
);

describe('packDocument', () => {
  it('gives back the same JSON and the same bits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 255 }),
        fc.jsonValue({ noUnicodeString: false }),
        arrays,
        (tag, json, numbers) => {
          const unpacked = unpackDocument(tag, packDocument(tag, json, numbers));
          expect(unpacked.json).toEqual(JSON.parse(JSON.stringify(json)));
          deepStrictEqual(unpacked.arrays, numbers);
        },
      ),
      { seed: 1 },
    );
  });

  it('keeps every bit of a NaN', () => {
    const numbers = new Float32Array(new Uint32Array([0x7fc00001, 0xffc12345, 0x80000000]).buffer);
    const [back] = unpackDocument(7, packDocument(7, null, [numbers])).arrays;
    expect(new Uint32Array(back.buffer, back.byteOffset, 3)).toEqual(new Uint32Array(numbers.buffer));
  });

  it('has nothing in common with the bytes it was read from', () => {
    const bytes = packDocument(7, null, [Float64Array.of(1, 2)]);
    const [back] = unpackDocument(7, bytes).arrays;
    bytes.fill(0);
    expect(back).toEqual(Float64Array.of(1, 2));
  });

  it('is read in place where the JSON says that it may be and its arrays are aligned, else copied', () => {
    const document = packDocument(7, 'large', [Float64Array.of(1, 2), Int32Array.of(3)]);
    const isLarge = (json: unknown): boolean => json === 'large';
    for (let shift = 0; shift < 9; shift++) {
      const bytes = new Uint8Array(document.length + 16).subarray(shift, shift + document.length);
      bytes.set(document);
      const { arrays } = unpackDocument(7, bytes, isLarge);
      expect(arrays).toEqual([Float64Array.of(1, 2), Int32Array.of(3)]);
      expect(arrays[0].buffer === bytes.buffer).toBe(shift % 8 === 0);
      expect(unpackDocument(7, bytes, (json) => !isLarge(json)).arrays[0].buffer).not.toBe(bytes.buffer);
    }
  });

  it('reads from any place in a larger buffer', () => {
    const document = packDocument(7, { a: 'ä' }, [Float64Array.of(Math.PI), Int32Array.of(-1)]);
    for (let shift = 0; shift < 9; shift++) {
      const larger = Buffer.concat([Buffer.alloc(shift), document]);
      expect(unpackDocument(7, larger.subarray(shift)).arrays).toEqual([
        Float64Array.of(Math.PI),
        Int32Array.of(-1),
      ]);
    }
  });

  it('is the same bytes for the same content: no memory of others shines through', () => {
    const pack = () => packDocument(1, { text: 'odd' }, [Float32Array.of(1), Float32Array.of(2, 3, 4)]);
    Buffer.allocUnsafe(8000).fill(0xff);
    expect(pack().equals(pack())).toBe(true);
  });

  it('refuses other documents, newer formats and other arrays', () => {
    const document = packDocument(1, null, []);
    expect(documentTag(document)).toBe(1);
    expect(() => unpackDocument(2, document)).toThrow('tag is 1 instead of 2');
    document[1] = 9;
    expect(() => unpackDocument(1, document)).toThrow('format 9');
    expect(() => unpackDocument(1, Buffer.alloc(3))).toThrow('format');
    expect(() => packDocument(1, null, [new Int8Array(1) as never])).toThrow(TypeError);
  });
});
