import { createHash } from 'node:crypto';
import type { Position } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import { encodeSnapshot } from './snapshot-codec.ts';

/** Two processes that have folded a ledger up to the same position have the same digest, or one of them is wrong. */
export interface StateDigest {
  readonly position: Position;
  /** SHA-256 of the canonical state, in hex. */
  readonly sha256: string;
}

export function stateDigest(state: CatalogState): StateDigest {
  return {
    position: state.position,
    sha256: createHash('sha256').update(encodeSnapshot(state)).digest('hex'),
  };
}
