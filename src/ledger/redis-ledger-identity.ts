import { randomUUID } from 'node:crypto';
import { catalogKey } from '../redis/keys.ts';

/**
 * What tells a ledger from an earlier one of the same catalog, and whose it is: `<epoch>/<random>`, or `<epoch>/removed`
 * once the catalog was deleted. A ledger without any was lost.
 */
export function newIdentity(epoch: string): string {
  return ownedBy(epoch) + randomUUID();
}

export function removedIdentity(epoch: string): string {
  return `${ownedBy(epoch)}removed`;
}

/** Whether it says that the catalog was deleted, in whatever epoch. */
export function isRemoved(identity: string | null): boolean {
  return identity?.endsWith('/removed') ?? false;
}

/** How every identity of this epoch begins. */
export function ownedBy(epoch: string): string {
  return `${epoch}/`;
}

/** Where a ledger lies. */
export function ledgerKeys(catalog: string): readonly [stream: string, head: string, identity: string] {
  return [catalogKey(catalog, 'ledger'), catalogKey(catalog, 'ledger-head'), identityKey(catalog)];
}

/** On the shard of the catalog: scripts that write there look at it. */
export function identityKey(catalog: string): string {
  return catalogKey(catalog, 'ledger-identity');
}
