import { describe, expect, it, vi } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { CatalogPositions } from '../../src/catalog/catalog-positions.ts';
import type { Catalogs } from '../../src/catalog/catalogs.ts';

/** The signal of a client that does not hang up. */
const { signal } = new AbortController();
const never = new Promise<never>(() => {});

/** Returns a catalog that has folded 5 of 10 entries, and never folds another one. */
function standingStill(): Catalog {
  const reached = (_: number, giveUp: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      giveUp.addEventListener('abort', () => resolve());
      if (giveUp.aborted) resolve();
    });
  const catalog = {
    state: { position: 5 },
    ledger: { head: async () => 10 },
    replica: { reached },
    closed: new AbortController().signal,
  };
  return catalog as unknown as Catalog;
}

function positionsOf(
  open: Record<string, Catalog>,
  look: () => Promise<void> = async () => {},
  timeoutMs?: number,
) {
  const catalogs = { serves: () => true, find: (name: string) => open[name] };
  return new CatalogPositions(catalogs as unknown as Catalogs, look, timeoutMs);
}

describe('positions that a request wants to see', () => {
  it('are waited for all at once, and not for ever', async () => {
    const names = Array.from({ length: 16 }, (_, i) => `c${i}`);
    const open = Object.fromEntries(names.map((name) => [name, standingStill()]));
    const positions = positionsOf(open, undefined, 1);
    const warnings = vi.spyOn(process, 'emitWarning');
    const waiting = positions.reached(
      names.map((name) => [name, 6] as const),
      signal,
    );
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
    expect(warnings).not.toHaveBeenCalled();
    warnings.mockRestore();
  });

  it('are given up also while catalogs are looked for', async () => {
    const waiting = positionsOf({}, () => never, 1).reached([['new', 1]], signal);
    await expect(waiting).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('does not know yet whether there is a catalog "new"'),
    });
  });

  it('are there where they were reached, or given for an earlier catalog of that name', async () => {
    const positions = positionsOf({ a: standingStill() });
    const wanted = [['a', 5] as const, ['a', 11] as const, ['gone', 3] as const];
    await positions.reached(wanted, signal);
  });

  it('are not waited for any longer when the client hangs up', async () => {
    const client = new AbortController();
    const waiting = positionsOf({ a: standingStill() }).reached([['a', 6]], client.signal);
    client.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
  }, 1_000);
});
