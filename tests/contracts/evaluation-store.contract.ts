import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { Evaluation } from '../../src/evaluation/evaluation.ts';
import {
  EVALUATION_FORMAT,
  type EvaluationStore,
  KEPT_EVALUATIONS,
  type StoredEvaluation,
} from '../../src/evaluation/evaluation-store.ts';

/** One place in which evaluations are kept. */
export interface EvaluationPlace {
  /** Connects to it, as a starting process does. */
  connect(): Promise<EvaluationStore>;
  dispose(): Promise<void>;
}

/** What every implementation of `EvaluationStore` keeps. `createPlace` makes an empty one. */
export function evaluationStoreContract(name: string, createPlace: () => Promise<EvaluationPlace>): void {
  describe(`${name} as an evaluation store`, () => {
    let place: EvaluationPlace;
    const start = async (): Promise<EvaluationStore> => {
      place = await createPlace();
      return place.connect();
    };
    afterEach(() => place.dispose());

    it('is empty at first, and knows no id that is none', async () => {
      const store = await start();
      expect(await store.list('default')).toEqual([]);
      for (const id of [randomUUID(), '../../ledger', '', '__proto__']) {
        expect(await store.get('default', id)).toBeNull();
      }
    });

    it('returns what was saved last to every process', async () => {
      const store = await start();
      const one = stored(1);
      expect(await store.save(one)).toBe(true);
      const further = { ...one, evaluation: { ...one.evaluation, progress: 0.5 }, interruptions: 2 };
      expect(await store.save(further)).toBe(true);
      for (const reader of [store, await place.connect()]) {
        expect(await reader.get('default', one.evaluation.id)).toEqual(further);
        expect(await reader.list('default')).toEqual([further]);
      }
    });

    it('does not change what has ended', async () => {
      const store = await start();
      const one = stored(1);
      await store.save(one);
      const cancelled = ended(one);
      const saves = [cancelled, one, { ...cancelled, interruptions: 5 }].map((some) => store.save(some));
      expect(await Promise.all(saves)).toEqual([true, false, false]);
      expect(await store.get('default', one.evaluation.id)).toEqual(cancelled);
    });

    it('lists the newest first, catalog by catalog, and forgets a catalog', async () => {
      const store = await start();
      const [one, two, other] = [stored(1), stored(2), stored(3, 'other')];
      for (const some of [two, other, one]) await store.save(some);
      expect(await store.list('default')).toEqual([two, one]);
      expect(await store.get('other', one.evaluation.id)).toBeNull();
      await store.remove('default');
      await store.remove('default');
      expect(await store.list('default')).toEqual([]);
      expect(await store.list('other')).toEqual([other]);
      expect(await store.save(one)).toBe(true);
    });

    it('keeps the newest of those that have ended, and all that have not', async () => {
      const store = await start();
      const open = stored(0);
      await store.save(open);
      const all = Array.from({ length: KEPT_EVALUATIONS + 3 }, (_, i) => ended(stored(i + 1)));
      for (const some of all) await store.save(some);
      expect(await store.list('default')).toEqual([...all.slice(3).reverse(), open]);
    });
  });
}

function stored(minute: number, catalog = 'default'): StoredEvaluation {
  const evaluation: Evaluation = {
    id: randomUUID(),
    catalog,
    status: 'running',
    createdAt: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
    endedAt: null,
    progress: 0,
    candidates: [],
    learnShare: 1,
    decisions: 12,
    skipped: { unexplored: 0, fallback: 1, otherEmbedder: 0, toolGone: 0, decisionGone: 0, forLearning: 0 },
    results: [],
    winner: null,
    reason: null,
  };
  return { version: EVALUATION_FORMAT, evaluation, alpha: 0.05, interruptions: 0 };
}

function ended(stored: StoredEvaluation): StoredEvaluation {
  const { evaluation } = stored;
  return { ...stored, evaluation: { ...evaluation, status: 'cancelled', endedAt: evaluation.createdAt } };
}
