import { randomUUID } from 'node:crypto';
import { unitKey, unitNumber } from '../ledger/unit.ts';
import type { Catalog } from './catalog.ts';
import { getTool } from './read-tools.ts';

/** How much was erased: tools or remembered cases, over all versions of the policy. */
export interface Forgotten {
  readonly forgotten: number;
}

/** Erases what was learned about a tool; the tool stays. @throws Problem tool-not-found */
export function forgetTool(catalog: Catalog, name: string): Promise<Forgotten> {
  getTool(catalog, name);
  return submit(catalog, { tool: name });
}

/** Erases every remembered case in which this unit, user or session is known to have taken part. */
export function forgetUnit(catalog: Catalog, unit: string): Promise<Forgotten> {
  return submit(catalog, { unit: unitNumber(unitKey(unit)) });
}

async function submit(catalog: Catalog, what: { tool?: string; unit?: number }): Promise<Forgotten> {
  const key = `forget/${randomUUID()}`;
  const outcome = await catalog.replica.submit({ kind: 'forget', key, at: catalog.now(), ...what });
  return { forgotten: outcome.kind === 'forget' ? outcome.forgotten : 0 };
}
