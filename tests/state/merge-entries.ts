import type { MergesEntry } from '../../src/ledger/entry.ts';
import {
  type MergesChange,
  mergeDigest,
  mergeId,
  type ProposedMerge,
} from '../../src/ledger/merge-definition.ts';
import type { CatalogState } from '../../src/state/catalog-state.ts';
import { axis, START, tool } from './entries.ts';

let keys = 0;

export function merges(change: MergesChange, more: Partial<MergesEntry> = {}): MergesEntry {
  return { kind: 'merges', key: `merges/${keys++}`, at: START, change, ...more };
}

/** A proposal of these tools as they are in the catalog now; the first by name stands for all. */
export function proposalOf(state: CatalogState, names: readonly string[]): ProposedMerge {
  const members = [...names].sort().map((name) => ({ name, hash: state.tools.get(name)?.hash ?? 'gone' }));
  const [{ name: representative }] = members;
  return {
    id: mergeId(members),
    ...{ members, representative },
    definition: tool(representative, { description: `does ${members.map(({ name }) => name).join(' or ')}` }),
    mappings: Object.fromEntries(members.map(({ name }) => [name, { arguments: {}, absent: [] }])),
    confidence: 0.9,
    evidence: { similarity: { least: 0.9, mean: 0.95 }, judge: 'rules', reason: 'alike', verdicts: [] },
    tokensSaved: 10,
  };
}

export function propose(...propose: readonly ProposedMerge[]): MergesEntry {
  return merges({ action: 'propose', propose, withdraw: [] });
}

/** An approval of a merge as it is in the catalog now. */
export function approve(state: CatalogState, id: string, more: Partial<MergesEntry> = {}): MergesEntry {
  const record = state.merges.get(id);
  const digest = record === undefined ? 'of none' : mergeDigest(record);
  const prepared = { digest, hash: `hash of ${id}`, embedding: axis(id), fingerprint: 'e1' };
  return merges({ action: 'approve', id, ...prepared }, more);
}
