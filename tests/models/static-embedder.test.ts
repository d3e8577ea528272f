import { describe, expect, it } from 'vitest';
import { bundledModelFolder, openModelFolder } from '../../src/models/open-embedder.ts';
import { StaticEmbedder } from '../../src/models/static/static-embedder.ts';
import { embedderContract } from '../contracts/embedder.contract.ts';

const open = () => openModelFolder(bundledModelFolder());
embedderContract('StaticEmbedder', open);

const dot = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, at) => sum + value * b[at], 0);

describe('StaticEmbedder', () => {
  it('is what a folder with a static model is opened with', async () => {
    expect(await open()).toBeInstanceOf(StaticEmbedder);
  });

  it('finds the nearer meaning', async () => {
    const embedder = await open();
    expect(embedder.dimensions).toBe(256);
    const [mail, forecast] = await embedder.embedDocuments([
      'send email: Sends an e-mail message to a recipient.',
      'get forecast: Returns the weather forecast for a city.',
    ]);
    const [query, nothing] = await embedder.embedQueries(['what will the weather be in Paris?', '😀🎉']);
    expect(dot(query, forecast)).toBeGreaterThan(dot(query, mail) + 0.2);
    expect([...nothing].every((value) => value === 0)).toBe(true);
  });

  it('lets others have their turns while it embeds many texts', async () => {
    const embedder = await open();
    let turns = 0;
    const count = (): void => {
      turns++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    await embedder.embedDocuments(
      Array.from({ length: 5_000 }, (_, at) => `read the weather of city ${at} `.repeat(9)),
    );
    clearImmediate(timer);
    expect(turns).toBeGreaterThan(1);
  });

  it('stops when its caller gives up, and counts what it was given', async () => {
    const texts: [string, number][] = [];
    const embedder = await openModelFolder(bundledModelFolder(), {
      onTexts: (kind, count) => texts.push([kind, count]),
    });
    const reason = new Error('gone');
    await expect(embedder.embedQueries(['send'], AbortSignal.abort(reason))).rejects.toBe(reason);
    await embedder.embedDocuments(['send', 'mail']);
    expect(texts).toEqual([
      ['query', 1],
      ['document', 2],
    ]);
  });
});
