import { createHash } from 'node:crypto';
import type { Position } from '../ledger/entry.ts';
import { atOnce } from '../slices.ts';
import type { CatalogState } from './catalog-state.ts';
import { encodeSnapshotParts } from './snapshot-codec.ts';

/** Two processes that have folded a ledger up to the same position have the same digest, or one of them is wrong. */
export interface StateDigest {
  readonly position: Position;
  /** SHA-256 of the canonical state, in hex. */
  readonly sha256: string;
}

export function stateDigest(state: CatalogState): StateDigest {
  return atOnce(digestInSteps(state));
}

/** The same with a pause after every part; the state must not change meanwhile. */
export function* digestInSteps(state: CatalogState): Generator<void, StateDigest> {
  const hash = createHash('sha256');
  for (const bytes of encodeSnapshotParts(state)) {
    hash.update(bytes);
    yield;
  }
  return { position: state.position, sha256: hash.digest('hex') };
}
