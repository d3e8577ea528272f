import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DuplicateFinder, LEAST_SIMILARITY } from '../../src/instructions/near-duplicates.ts';
import { atOnce } from '../../src/scheduling/slices.ts';

const find = (changed: readonly string[], all: readonly { id: string; text: string }[]) =>
  report(changed, all).pairs;

const report = (changed: readonly string[], all: readonly { id: string; text: string }[]) =>
  atOnce(new DuplicateFinder().find(new Set(changed), all));

/** Runs of three words of a text, each once. */
function runs(text: string): Set<string> {
  const words = text.split(' ');
  return new Set(
    words.slice(0, Math.max(1, words.length - 2)).map((_, at) => words.slice(at, at + 3).join(' ')),
  );
}

describe('near duplicates', () => {
  it('are those of a comparison of all pairs', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
    const original = fc.array(word, { minLength: 1, maxLength: 14 });
    const texts = fc
      .array(fc.tuple(original, fc.nat(13), word), { minLength: 2, maxLength: 8 })
      .map((drafts) =>
        // Every second one is the one before with another word.
        drafts.map(([words, at, other], i) => {
          const base = i % 2 === 1 ? drafts[i - 1][0] : words;
          return {
            id: `i${i}`,
            text: base.map((one, k) => (i % 2 === 1 && k === at ? other : one)).join(' '),
          };
        }),
      );
    fc.assert(
      fc.property(texts, fc.nat(), (all, pick) => {
        const changed = all.filter((_, i) => (pick >> i) % 2 === 1).map(({ id }) => id);
        const expected = all.flatMap((a, i) =>
          all.slice(i + 1).flatMap((b) => {
            const [mine, theirs] = [runs(a.text), runs(b.text)];
            const shared = [...mine].filter((run) => theirs.has(run)).length;
            const similarity = shared / (mine.size + theirs.size - shared);
            const isWanted = changed.includes(a.id) || changed.includes(b.id);
            return isWanted && similarity >= LEAST_SIMILARITY ? [{ ids: [a.id, b.id], similarity }] : [];
          }),
        );
        const found = find(changed, all);
        const key = ({ ids }: { ids: readonly string[] }) => ids.join();
        expect(
          found
            .map(({ ids, similarity }) => ({ ids, similarity }))
            .sort((a, b) => (key(a) < key(b) ? -1 : 1)),
        ).toEqual(expected.sort((a, b) => (key(a) < key(b) ? -1 : 1)));
        expect(found).toEqual(found.toSorted((a, b) => b.similarity - a.similarity));
      }),
    );
  });

  it('are exact when only case, punctuation and blanks differ', () => {
    const all = [
      { id: 'a', text: 'Never share passwords, keys or tokens.' },
      { id: 'b', text: 'never share **passwords**, keys\nor tokens' },
      { id: 'c', text: 'Something else that has nothing to do with it.' },
    ];
    expect(find(['b'], all)).toEqual([{ ids: ['a', 'b'], similarity: 1, exact: true }]);
    expect(find(['c'], all)).toEqual([]);
  });

  it('are found among ten thousand, of which many are the same, and end', () => {
    const all = Array.from({ length: 10_000 }, (_, i) => ({
      id: `i${i}`,
      text: `rule ${i % 5_000} says that order ${i % 5_000} is packed by team ${i % 5_000} before it is sent`,
    }));
    expect(find(['i7'], all)).toEqual([{ ids: ['i5007', 'i7'], similarity: 1, exact: true }]);
    const same = all.map(({ id }) => ({ id, text: 'always the same few words' }));
    const ids = same.map(({ id }) => id);
    expect(report(ids, same)).toMatchObject({ pairs: { length: 1_000 }, complete: false });
  });

  const sharing = (shared: number, own: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      id: `i${i}`,
      text: [
        ...Array.from({ length: own }, (_, at) => `own${i}x${at}`),
        ...Array.from({ length: shared }, (_, at) => `shared${at}`),
      ].join(' '),
    }));

  it('are not compared for a phrase that all have, as long as the rest is rarer', () => {
    const all = sharing(60, 40, 5_000);
    const steps = new DuplicateFinder().find(new Set(all.map(({ id }) => id)), all);
    let pauses = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) pauses++;
    expect(step.value).toEqual({ pairs: [], complete: true });
    // Of each text three, one for each shingle of its prefix, and none to compare it with another.
    expect(pauses).toBeLessThan(5_000 * 40);
  });

  it('end where nearly all is shared by texts that are not the same, and say so', () => {
    const all = sharing(80, 20, 10_000);
    expect(
      report(
        all.map(({ id }) => id),
        all,
      ),
    ).toEqual({ pairs: [], complete: false });
  });
});
