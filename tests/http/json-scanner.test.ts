import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Problem } from '../../src/errors/problem.ts';
import { ArrivingBody } from '../../src/http/body-intake.ts';
import { parseBody } from '../../src/http/json-body.ts';
import {
  MAX_ELEMENT_VALUES,
  MAX_JSON_DEPTH,
  MAX_LOOSE_VALUES,
  MAX_PIECE_BYTES,
  ORDINARY_BODY,
} from '../../src/http/json-scanner.ts';
import { TOOLS_BODY } from '../../src/http/wire/tool.ts';

const PACE = { bytesPerSecond: 1, graceSeconds: 60 };

/** Reads a body that comes in these chunks. */
async function read(chunks: readonly (string | Uint8Array)[], limits = TOOLS_BODY): Promise<unknown> {
  const body = new ArrivingBody(limits, () => {});
  await body.readFrom(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), PACE);
  return parseBody({ bytes: body.bytes, lists: body.scanner.lists, release: () => {} });
}

async function refusal(chunks: readonly string[], limits = TOOLS_BODY): Promise<Problem> {
  const error = await read(chunks, limits).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Problem);
  return error as Problem;
}

function split(bytes: Uint8Array, size: number): Uint8Array[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}

const key = fc.string({ unit: 'grapheme', maxLength: 6 }).filter((name) => name !== '__proto__');
const { tree } = fc.letrec((tie) => ({
  leaf: fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean(), fc.constant(null)),
  tree: fc.oneof(
    { maxDepth: 4 },
    tie('leaf'),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

describe('a body that is parsed in pieces', () => {
  it('is what JSON.parse makes of it, however it comes', async () => {
    const indent = fc.constantFrom(0, 1, 3);
    await fc.assert(
      fc.asyncProperty(tree, indent, fc.integer({ min: 1, max: 40 }), async (value, spaces, size) => {
        const text = JSON.stringify(value, null, spaces);
        expect(await read(split(Buffer.from(text), size))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('is refused whenever JSON.parse refuses it, and only then', async () => {
    const lists = fc.dictionary(key, fc.array(tree, { maxLength: 3 }), { maxKeys: 3, noNullPrototype: true });
    const mark = fc.constantFrom(...'[]{},:"\\ \t\u0001x1');
    const change = fc.tuple(fc.nat(), fc.boolean(), mark);
    await fc.assert(
      fc.asyncProperty(lists, fc.array(change, { minLength: 1, maxLength: 2 }), async (value, changes) => {
        let text = JSON.stringify(value);
        for (const [place, isInsertion, character] of changes) {
          const at = place % (text.length + 1);
          text = text.slice(0, at) + character + text.slice(isInsertion ? at : at + 1);
        }
        text = Buffer.from(text).toString(); // without halves of characters
        let expected: unknown;
        try {
          expected = JSON.parse(text);
        } catch {
          await refusal([text]);
          return;
        }
        const twice = { violations: [{ message: 'is there twice' }] };
        const parsed = await read([text]).catch((error: unknown) => {
          expect(error).toMatchObject(twice);
          return expected;
        });
        expect(parsed).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it('says where a piece is broken', async () => {
    expect((await refusal(['{"put": [{"a": 1}, {"a": x}]}'])).message).toMatch(/in put\[1\]/);
    expect((await refusal(['{"put": [[1}]}'])).message).toMatch(/in put\[0\]/);
  });

  it('has every list once', async () => {
    const { violations } = await refusal(['{"put": [], "p\\u0075t": [1]}']);
    expect(violations).toEqual([{ path: 'put', message: 'is there twice' }]);
    expect(await read(['{"put": [1], "put": 2}'])).toEqual({ put: 2 });
    expect(await read(['{"put": 1, "put": [2]}'])).toEqual({ put: [2] });
  });
});

describe('a body is refused while it comes', () => {
  /** Never ends: whoever reads to the end before it refuses reads for ever. */
  function endless(start: string, chunk: string): Readable {
    return Readable.from(
      (function* () {
        yield Buffer.from(start);
        for (;;) yield Buffer.from(chunk.repeat(100));
      })(),
    );
  }

  const lots = { ...TOOLS_BODY, bytes: Number.POSITIVE_INFINITY };

  it.each([
    ['a list of lists', '{"tools":[', '[],', 'too-many-tools', /10000 tools/],
    ['a list of nothing', '{"tools":[', ',', 'too-many-tools', /10000 tools/],
    [
      'a schema with no end of keys',
      '{"tools":[{"inputSchema":{',
      '"a":1,',
      'validation-failed',
      /tools\[0\]/,
    ],
    ['no end of unknown keys', '{', '"a":1,', 'validation-failed', /outside of its lists/],
    ['no end of levels', '{"put":[1,', '[', 'validation-failed', /put\[1\]: is nested more than 72/],
    ['no end of text in a tool', '{"put":[{"description":"', 'x\\"', 'body-too-large', /put\[0\] is larger/],
    ['no end of text elsewhere', '{"filler":"', '\\u0041', 'body-too-large', /is larger than 1 MB/],
    ['no end of blanks in a list', '{"put":[', ' ', 'body-too-large', /put\[0\] is larger/],
    ['a list as the body', '[', '1,', 'validation-failed', /outside of its lists/],
    ['a number without end', '', '1', 'body-too-large', /is larger than 1 MB/],
    ['no end of brackets that close', '{', ']', 'malformed-request', /not valid JSON/],
  ])('%s', async (_, start, chunk, code, message) => {
    const body = new ArrivingBody(lots, () => {});
    const error = await body.readFrom(endless(start, chunk), PACE).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('with its limits met exactly it is not', async () => {
    const values = (count: number) => `[${Array(count).fill('1').join()}]`;
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    await expect(read([`{"put":${values(10_000)}}`])).resolves.toBeDefined();
    expect((await refusal([`{"put":${values(10_000)},"remove":["a"]}`])).code).toBe('too-many-tools');
    expect((await refusal([`{"rewards":${values(10_001)}}`], ORDINARY_BODY)).violations).toEqual([
      { path: 'rewards', message: expect.stringMatching(/10000/) },
    ]);
    await expect(read([`{"put":[${values(MAX_ELEMENT_VALUES)}]}`])).resolves.toBeDefined();
    await expect(read([values(MAX_LOOSE_VALUES)])).resolves.toBeDefined();
    await expect(read([nested(MAX_JSON_DEPTH)])).resolves.toBeDefined();
    await expect(read([`"${'x'.repeat(MAX_PIECE_BYTES - 2)}"`])).resolves.toBeDefined();
    const many = Array(1000).fill(values(100)).join();
    expect((await refusal([`{"messages":[${many}]}`], ORDINARY_BODY)).message).toMatch(/100000 values/);
  });
});
