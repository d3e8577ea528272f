import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Embedder, EmbedderUnavailableError } from '../../src/models/embedder.ts';

/** Texts that somebody will send one day. */
const ODD_TEXTS = [
  '',
  ' \n\t',
  '😀🎉👩‍👩‍👧',
  '?!…',
  '__proto__',
  'a\u0000b\u202e\ud800',
  'Wie wird das Wetter in Köln?',
  'Quel temps fera-t-il demain ?',
  '¿Qué tiempo hará mañana?',
  'Какая завтра погода?',
  'ما حالة الطقس غدا؟',
  'כמה עולה הכרטיס',
  'मौसम कैसा है',
  '明天天气怎么样',
  '明日の天気は',
  '내일 날씨 어때',
  'weather '.repeat(3_000),
  'x'.repeat(1_000_000),
];

/** What every embedder promises. `known` are two texts with different meanings that its model knows. */
export function embedderContract(
  name: string,
  open: () => Promise<Embedder>,
  known: readonly [string, string] = ['send a mail', 'read the weather'],
): void {
  describe(name, () => {
    let embedder: Embedder;
    beforeAll(async () => {
      embedder = await open();
    });
    afterAll(() => embedder.close());

    it('gives unit vectors, or zeros, of one length', async () => {
      expect(embedder.dimensions).toBeGreaterThan(0);
      for (const vector of [
        ...(await embedder.embedQueries([...known, ...ODD_TEXTS])),
        ...(await embedder.embedDocuments([...known, ...ODD_TEXTS])),
      ]) {
        expect(vector).toHaveLength(embedder.dimensions);
        const length = Math.hypot(...vector);
        if (length !== 0) expect(length).toBeCloseTo(1, 4);
      }
    });

    it('gives the same bits for the same text, whatever comes with it', async () => {
      const alone = await Promise.all(known.map(async (text) => (await embedder.embedDocuments([text]))[0]));
      const among = await embedder.embedDocuments([...ODD_TEXTS, known[1], known[0], ...ODD_TEXTS]);
      expect(among[ODD_TEXTS.length]).toEqual(alone[1]);
      expect(among[ODD_TEXTS.length + 1]).toEqual(alone[0]);
      expect(alone[0]).not.toEqual(alone[1]);
      expect(await embedder.embedQueries(known)).toEqual(await embedder.embedQueries(known));
    });

    it('answers every one of many callers with its own vectors', async () => {
      const texts = Array.from({ length: 200 }, (_, at) =>
        `${known[at % 2]} ${known[0]}`.repeat(1 + (at % 5)),
      );
      const expected = await embedder.embedQueries(texts);
      const answers = await Promise.all(texts.map((text) => embedder.embedQueries([text])));
      expect(answers.map(([vector]) => vector)).toEqual(expected);
    });

    it('answers nothing with nothing', async () => {
      expect(await embedder.embedQueries([])).toEqual([]);
      expect(await embedder.embedDocuments([])).toEqual([]);
    });

    it('has a fingerprint that another instance has as well', async () => {
      const other = await open();
      await other.close();
      expect(embedder.fingerprint).toMatch(/^[0-9a-f]{32}$/);
      expect(other.fingerprint).toBe(embedder.fingerprint);
    });

    it('is unavailable once closed; closing twice is harmless', async () => {
      const other = await open();
      const waiting = other.embedDocuments(Array.from({ length: 20_000 }, (_, at) => `${known[0]} ${at}`));
      const rejected = expect(waiting).rejects.toThrow(EmbedderUnavailableError);
      await other.close();
      await other.close();
      await rejected;
      await expect(other.embedQueries(['send'])).rejects.toThrow(EmbedderUnavailableError);
      await expect(other.embedQueries(['send'])).rejects.toThrow(/closed/);
    });
  });
}
