import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CaseLinks } from '../../../bandit/memory/case-links.ts';

const PLACES = 200;

describe('CaseLinks', () => {
  it('finds the case whose merging costs least, however links have changed', () => {
    const place = fc.nat(PLACES - 1);
    const steps = fc.oneof(
      { weight: 6, arbitrary: fc.record({ put: place, near: place, similarity: fc.nat(20) }) },
      { weight: 3, arbitrary: fc.record({ count: place }) },
      { weight: 2, arbitrary: fc.record({ merge: fc.constant(true) }) },
      { weight: 1, arbitrary: fc.record({ remove: place }) },
      { weight: 1, arbitrary: fc.record({ reload: fc.constant(true) }) },
    );
    fc.assert(
      fc.property(fc.array(steps, { minLength: 20, maxLength: 300 }), (script) => {
        let links = new CaseLinks();
        const live = new Set<number>();
        for (const step of script) {
          if ('put' in step) {
            if (live.has(step.put)) continue;
            const hasNear = live.has(step.near);
            live.add(step.put);
            links.put(step.put, hasNear ? step.near : -1, hasNear ? step.similarity / 21 : 0);
            links.count(step.put);
          } else if ('count' in step) {
            if (live.has(step.count)) links.count(step.count);
          } else if ('remove' in step) {
            if (live.delete(step.remove)) links.remove([step.remove]);
          } else if ('reload' in step) links = CaseLinks.load(links.save());
          else {
            const cheapest = links.cheapest();
            if (cheapest === null) continue;
            live.delete(cheapest.place);
            links.merge(cheapest.place, cheapest.into);
          }
          expect(links.cheapest()).toEqual(naiveCheapest(links));
        }
      }),
      { numRuns: 100 },
    );
  });
});

/** From what is saved alone, one place after the other. */
function naiveCheapest(links: CaseLinks): ReturnType<CaseLinks['cheapest']> {
  const { decisions, nearest, similarities } = links.save();
  let cheapest: ReturnType<CaseLinks['cheapest']> = null;
  for (let place = 0; place < nearest.length; place++) {
    if (nearest[place] < 0) continue;
    const loss = decisions[place] * (1 - similarities[place]);
    if (cheapest === null || loss < cheapest.loss) cheapest = { place, into: nearest[place], loss };
  }
  return cheapest;
}
