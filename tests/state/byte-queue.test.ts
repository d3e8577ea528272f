import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteQueue } from '../../src/state/observed/byte-queue.ts';

/** Keys of three bytes; what follows is anything, at times more than a cell takes. */
const put = fc.tuple(fc.integer({ min: 0, max: 600 }), fc.nat({ max: 1500 }));
const key = (n: number): Buffer => Buffer.from([n % 7, n >> 8, n & 0xff]);

it('a queue of bytes is a map in order of insertion that loses its oldest', () => {
  const steps = fc.array(
    fc.record({
      puts: fc.array(put, { maxLength: 200 }),
      drop: fc.nat({ max: 150 }),
      turn: fc.nat({ max: 40 }),
    }),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(steps, (all) => {
      const queue = new ByteQueue();
      const plain = new Map<number, Buffer>();
      for (const { puts, drop, turn } of all) {
        for (const [n, length] of puts) {
          const bytes = Buffer.concat([key(n), Buffer.alloc(length, n)]);
          queue.put(key(n), bytes);
          plain.set(n, bytes);
        }
        for (let i = 0; i < turn && plain.size > 0; i++) {
          const [[n, bytes]] = plain;
          plain.delete(n);
          plain.set(n, bytes);
          queue.moveOldestToEnd();
        }
        for (let i = 0; i < drop && plain.size > 0; i++) {
          const [[n, bytes]] = plain;
          expect(Buffer.compare(queue.oldest(), bytes)).toBe(0);
          plain.delete(n);
          queue.dropOldest();
        }
        expect(queue.size).toBe(plain.size);
        expect(Buffer.compare(Buffer.concat([...queue]), Buffer.concat([...plain.values()]))).toBe(0);
        for (let n = 0; n <= 600; n++) {
          const [found, wanted] = [queue.get(key(n)), plain.get(n)];
          if (wanted === undefined) expect(found).toBeUndefined();
          else expect(Buffer.compare(found!, wanted)).toBe(0);
        }
      }
    }),
    { seed: 12, numRuns: 40 },
  );
});
