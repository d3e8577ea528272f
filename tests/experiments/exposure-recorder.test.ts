import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { ExposureRecorder } from '../../src/experiments/exposure-recorder.ts';
import type { Entry } from '../../src/ledger/entry.ts';

const ASSIGNMENT = { experiment: 'trial', variant: 'new', allocation: 1, unit: '0123456789abcdef' };

class Recorded {
  readonly closing = new AbortController();
  readonly appended: Entry[] = [];
  readonly troubles: string[] = [];
  readonly recorder = new ExposureRecorder((message) => this.troubles.push(message));
  readonly catalog = {
    name: 'shop',
    closed: this.closing.signal,
    now: () => 0,
    ledger: {
      append: async (entries: readonly Entry[]) => {
        if (this.closing.signal.aborted) throw new Error('this ledger is closed');
        this.appended.push(...entries);
      },
    },
  } as unknown as Catalog;
}

vi.useFakeTimers();
afterEach(() => expect(vi.getTimerCount()).toBe(0));

describe('exposures', () => {
  it('are written together, a second later', async () => {
    const { recorder, catalog, appended } = new Recorded();
    recorder.decide(catalog, ASSIGNMENT);
    recorder.decide(catalog, ASSIGNMENT);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(appended).toMatchObject([{ kind: 'exposures', decided: [['trial', 'new', 2]] }]);
    await recorder.close();
  });

  it('of a catalog that is closed go with it, and nothing is kept for it', async () => {
    const { recorder, catalog, closing, appended, troubles } = new Recorded();
    recorder.decide(catalog, ASSIGNMENT);
    closing.abort();
    expect(vi.getTimerCount()).toBe(0);
    // A request that was under way comes to its end.
    recorder.leaveOut(catalog, { withoutUnit: ['trial'], ownDetail: [] });
    expect(vi.getTimerCount()).toBe(0);
    await recorder.flush(catalog);
    await recorder.close();
    expect(appended).toEqual([]);
    expect(troubles).toEqual([]);
  });

  it('that are being written when the catalog is closed are no reason to complain', async () => {
    const { recorder, catalog, closing, troubles } = new Recorded();
    recorder.decide(catalog, ASSIGNMENT);
    const flushed = recorder.flush(catalog);
    closing.abort();
    await flushed;
    expect(troubles).toEqual([]);
    await recorder.close();
  });
});
