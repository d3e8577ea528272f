import { describe, expect, it } from 'vitest';
import type { Embedder } from '../../src/models/embedder.ts';
import { toFixedPoint } from '../../src/models/fixed-point.ts';
import { prepare } from '../../src/simulation/prepare.ts';

const TOOLS = [
  { name: 'sendMail', description: 'sends', inputSchema: {} },
  { name: 'readMail', description: 'reads', inputSchema: {} },
];
const LABELS = [
  { query: 'send it', relevant: ['sendMail', 'sendMail', 'gone'] },
  { query: 'nothing fits', relevant: ['lost'] },
  { query: 'read it', relevant: ['readMail'] },
];

/** Embeds a text as its length, and notes what it was asked. */
function lengthEmbedder(): Embedder & { readonly asked: string[] } {
  const asked: string[] = [];
  const embed = async (texts: readonly string[]): Promise<Float32Array[]> => {
    asked.push(...texts);
    return texts.map((text) => Float32Array.of(text.length));
  };
  return {
    asked,
    dimensions: 1,
    fingerprint: 'length',
    embedQueries: embed,
    embedDocuments: embed,
    close: async () => {},
  };
}

describe('prepare', () => {
  it('embeds documents and queries once, and leaves out what no tool has', async () => {
    const embedder = lengthEmbedder();
    const progress: number[][] = [];
    const { tools, queries, unknown } = await prepare(TOOLS, LABELS, embedder, (done, all) =>
      progress.push([done, all]),
    );
    expect(embedder.asked).toEqual(['send Mail: sends', 'read Mail: reads', 'send it', 'read it']);
    expect(tools.map(({ embedding }) => embedding)).toEqual([Float32Array.of(16), Float32Array.of(16)]);
    expect(queries.map(({ text, relevant }) => [text, relevant])).toEqual([
      ['send it', ['sendMail']],
      ['read it', ['readMail']],
    ]);
    expect(queries[0].embedding).toEqual(Float32Array.of(7));
    expect(queries[0].tokens.length).toBe(1);
    expect(unknown).toEqual(['gone', 'lost']);
    expect(progress).toEqual([
      [2, 4],
      [4, 4],
    ]);
  });

  it('rounds vectors of queries as routing does, and those of tools not', async () => {
    const vector = Float32Array.of(0.1, 0.9);
    const embed = async (texts: readonly string[]) => texts.map(() => vector);
    const embedder = { ...lengthEmbedder(), embedQueries: embed, embedDocuments: embed };
    const { tools, queries } = await prepare(TOOLS, LABELS, embedder);
    expect(queries[0].embedding).toEqual(toFixedPoint(vector));
    expect(queries[0].embedding).not.toEqual(vector);
    expect(tools[0].embedding).toEqual(vector);
  });

  it('goes without vectors where there is no embedder', async () => {
    const { tools, queries } = await prepare(TOOLS, LABELS, null);
    expect([...tools, ...queries].every(({ embedding }) => embedding === null)).toBe(true);
  });
});
