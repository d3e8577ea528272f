import { randomUUID } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import { type ToolChanges, withEmbeddings } from '../catalog/change-tools.ts';
import { attemptChange } from '../catalog/conditional-change.ts';
import { Problem } from '../errors/problem.ts';
import type { Position } from '../ledger/entry.ts';
import type { SyncReport } from '../ledger/source-definition.ts';
import { inSlices } from '../scheduling/slices.ts';
import type { FaultsOf } from './formats/read-tools.ts';
import type { Refused } from './formats/tool-fields.ts';
import { type Offer, planSync } from './plan-sync.ts';

/** What the catalog may change during, for the problem that it did so all the time. */
const MEANWHILE = 'its tools were being read';
/** Of the tools that are left out so many are named, with so many bytes of JSON in all. */
const NAMED = 100;
const NAMED_BYTES = 32_768;
/** Servers choose the names: longer ones, and longer reasons that quote them, are cut. */
const NAME_LENGTH = 100;
const WHY_LENGTH = 300;

export interface SourceRead {
  readonly source: string;
  /** Of the definition by which it was read. */
  readonly generation: Position;
  readonly startedAt: number;
  readonly offer: Offer;
}

/**
 * Makes an offer the tools of its source, in one entry: all of it or nothing. Only definitions that changed are embedded.
 * Returns false if the source was removed or defined anew meanwhile: nothing was changed then.
 * @throws Problem unavailable when the catalog changes all the time
 */
export function applySync(
  catalog: Catalog,
  { source, generation, startedAt, offer }: SourceRead,
  faultsOf: FaultsOf,
  signal?: AbortSignal,
): Promise<boolean> {
  return attemptChange(async () => {
    const { state } = catalog;
    const record = state.sources.get(source);
    if (record?.generation !== generation) return false;
    const { fingerprint } = state;
    const plan = await inSlices(planSync(state, record, offer, faultsOf));
    const leftOut = namedOf(plan.leftOut);
    const { ttlMs } = offer;
    const synced: SyncReport = {
      ...{ startedAt, leftOut, leftOutCount: plan.leftOut.length },
      ...(ttlMs !== undefined && { ttlMs }),
    };
    const base = { key: `source/${randomUUID()}`, at: catalog.now() };
    if (plan.isUnchanged) {
      const change = { action: 'unchanged', generation, ...synced } as const;
      const outcome = await catalog.replica.submit({ kind: 'source', ...base, name: source, change });
      return outcome.kind === 'source';
    }
    const put = [...(await withEmbeddings(catalog, plan.served, true, signal)), ...plan.held];
    const outcome = await catalog.replica.submit({
      ...{
        kind: 'tools',
        ...base,
        source,
        put,
        remove: [],
        sync: plan.sync,
        of: generation,
        synced,
        fingerprint,
      },
    });
    if (outcome.kind === 'tools') return true;
    return outcome.kind === 'tools-refused' && outcome.reason === 'gone' ? false : undefined;
  }, MEANWHILE);
}

/** Returns those that the report of a sync names. It is written with each sync, so its length does not follow from what a source says. */
function namedOf(leftOut: readonly Refused[]): Refused[] {
  const named: Refused[] = [];
  let bytes = 0;
  for (const { name, why } of leftOut.slice(0, NAMED)) {
    const one = { name: name.slice(0, NAME_LENGTH), why: why.slice(0, WHY_LENGTH) };
    bytes += Buffer.byteLength(JSON.stringify(one));
    if (bytes > NAMED_BYTES) break;
    named.push(one);
  }
  return named;
}

/** Serves definitions that were held back: those of these names, or all. @throws Problem tool-not-found for one that is not held */
export function approveHeld(
  catalog: Catalog,
  source: string,
  names: readonly string[] | undefined,
  actor?: string,
): Promise<ToolChanges> {
  return attemptChange(async () => {
    const { state } = catalog;
    const held = state.sources.held(source);
    const approved = (names ?? [...held.keys()]).map((named) => {
      const one = held.get(named) ?? held.get(state.tools.nameOf(named));
      if (one !== undefined) return one;
      throw new Problem(
        'tool-not-found',
        `No definition of "${named}" waits for approval in source "${source}".`,
        `GET /v1/catalogs/${catalog.name}/sources/${source} lists those that do.`,
      );
    });
    const { fingerprint } = state;
    const generation = state.sources.get(source)?.generation;
    const fresh = approved.map(({ heldSince: _, ...one }) => one);
    const put = await withEmbeddings(catalog, fresh, false, undefined);
    const outcome = await catalog.replica.submit({
      ...{ kind: 'tools', key: `source/${randomUUID()}`, at: catalog.now() },
      ...{ source, put, remove: [], fingerprint },
      ...(generation !== undefined && { of: generation }),
      ...(actor !== undefined && { actor }),
    });
    if (outcome.kind !== 'tools') return undefined;
    const { kind: _, ...changes } = outcome;
    return changes;
  }, MEANWHILE);
}
