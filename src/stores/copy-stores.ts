import { setTimeout as wait } from 'node:timers/promises';
import { allUsers, type ContextStore } from '../context/context-store.ts';
import { copyServiceKey } from '../context/service-key.ts';
import { settlementJobOf } from '../decisions/settlements.ts';
import { firstPosition } from '../ledger/find-position.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Job } from '../queue/job-queue.ts';
import { type Lease, snapshotLease } from '../snapshots/snapshot-store.ts';
import type { Stores } from './stores.ts';

/** How much was copied. */
export interface Copied {
  readonly catalogs: number;
  entries: number;
  snapshots: number;
  decisions: number;
  jobs: number;
  /** Users whose context was copied. */
  users: number;
}

/** Thrown when the copy cannot be made; the message says why. */
export class CopyRefusedError extends Error {
  override readonly name = 'CopyRefusedError';
}

const ENTRIES_AT_ONCE = 500;
const JOBS_AT_ONCE = 500;
/** A decision that was due so long before the newest one was settled, unless its store was away all that time; ms. */
const SETTLED_AFTER_MS = 60 * 60 * 1000;
const KEEP_SNAPSHOTS = 3;
const RETRY_MS = 200;

/**
 * Copies everything durable from one set of stores to another one, which has to be empty: from the data folder to Redis, back,
 * or to a folder as a backup. The source may be in use if it is Redis: jobs are read before the ledger that they are written
 * to, and the ledger before its decisions, so that everything that was accepted before is in the copy, perhaps twice; the fold
 * applies it once.
 * @param context copies what users have as well, with their keys: the source is left for good. Absent: it is left out, so that a backup
 * cannot bring back a user who was erased. `secret` is the operator's.
 * @throws CopyRefusedError when the target has a catalog already
 * @throws Problem unavailable when keys of users cannot be read, or not be kept there, without another secret; nothing was copied then
 */
export async function copyStores(
  from: Stores,
  to: Stores,
  context?: { readonly secret: string | undefined },
): Promise<Copied> {
  const names = await from.ledgers.list();
  const [present] = await to.ledgers.list();
  if (present !== undefined) {
    throw new CopyRefusedError(
      `The target has a catalog "${present}" already. Use an empty folder or an empty Redis: nothing is merged.`,
    );
  }
  const hasContext =
    context !== undefined && (await copyServiceKey(from.contexts, to.contexts, context.secret));
  await to.deployment.beginCopy(await from.deployment.id());
  const copied = { catalogs: names.length, entries: 0, snapshots: 0, decisions: 0, jobs: 0, users: 0 };
  await copyJobs(from, to, copied);
  for (const name of names) {
    await copyLedger(name, from, to, copied);
    await copyDecisions(name, from, to, copied);
    for (const evaluation of [...(await from.evaluations.list(name))].reverse()) {
      await to.evaluations.save(evaluation);
    }
    const model = await from.contextModels.model(name);
    if (model !== null) await to.contextModels.putModel(name, model);
    if (hasContext) copied.users += await copyContexts(name, from.contexts, to.contexts);
  }
  await to.deployment.endCopy();
  return copied;
}

/** Copies what the users of a catalog have, as it is encrypted, and erasures that broke off. Returns how many users. */
async function copyContexts(catalog: string, from: ContextStore, to: ContextStore): Promise<number> {
  for (const user of await from.unfinishedErasures(catalog)) {
    await to.beginErasure({ catalog, user }, (await from.erasureNote({ catalog, user })) ?? '');
  }
  let users = 0;
  for await (const user of allUsers(from, catalog)) {
    const sealed = await from.read({ catalog, user });
    if (sealed === null || sealed === 'same') continue;
    const { key, items, signals } = sealed;
    const examples = (await from.examples({ catalog, user }))?.examples;
    const parts = {
      key,
      ...(items !== null && { items }),
      ...(signals !== null && { signals }),
      ...(examples !== undefined && { examples }),
    };
    await to.change({ catalog, user }, async () => parts);
    users++;
  }
  return users;
}

/**
 * Copies decisions. A data folder knows by itself which of them are still to be settled; Redis gets a job for each that may be
 * open, and the fold ignores it where it is not.
 */
async function copyDecisions(name: string, from: Stores, to: Stores, copied: Copied): Promise<void> {
  const target = await to.decisionLogs.open(name);
  const needsJobs = from.mode === 'embedded' && to.mode === 'redis';
  let due: Job[] = [];
  let newest = 0;
  const mayBeOpen = ({ runAt = 0 }: Job): boolean => runAt > newest - SETTLED_AFTER_MS;
  for await (const decision of (await from.decisionLogs.find(name))?.read() ?? []) {
    await target.append(decision);
    copied.decisions++;
    newest = Math.max(newest, decision.at);
    if (!needsJobs || decision.activatedAt === null) continue;
    due.push(settlementJobOf(decision));
    if (due.length % JOBS_AT_ONCE === 0) due = due.filter(mayBeOpen);
  }
  due = due.filter(mayBeOpen);
  copied.jobs += due.length;
  while (due.length > 0) await to.queue.add(due.splice(0, JOBS_AT_ONCE));
}

/** Copies jobs, dead ones too, which are tried again in the target. */
async function copyJobs(from: Stores, to: Stores, copied: Copied): Promise<void> {
  let some = (await from.queue.deadJobs(Number.MAX_SAFE_INTEGER)).map(({ job }) => job);
  const write = async (): Promise<void> => {
    await to.queue.add(some);
    copied.jobs += some.length;
    some = [];
  };
  for await (const job of from.queue.jobs()) {
    some.push(job);
    if (some.length >= JOBS_AT_ONCE) await write();
  }
  await write();
}

/** Copies a ledger while it holds the snapshot lease, so that the source is not trimmed meanwhile. */
async function copyLedger(name: string, from: Stores, to: Stores, copied: Copied): Promise<void> {
  const lease = await snapshotLeaseOf(name, from);
  const source = await from.ledgers.open(name);
  try {
    const start = await firstPosition(source, await source.head());
    await to.ledgers.begin(name, start);
    // Opened before it has snapshots: afterwards they would know more than it holds.
    const target = await to.ledgers.open(name);
    try {
      await copySnapshots(name, from, to, copied);
      copied.entries += await copyEntries(source, target, start);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
    await lease.release();
  }
}

/** Waits for the lease: its holder makes a snapshot, which takes a moment. */
async function snapshotLeaseOf(name: string, { leases }: Stores): Promise<Lease> {
  for (;;) {
    const lease = await leases.acquire(snapshotLease(name));
    if (lease !== null) return lease;
    await wait(RETRY_MS);
  }
}

async function copySnapshots(name: string, from: Stores, to: Stores, copied: Copied): Promise<void> {
  const source = await from.snapshots.open(name);
  const target = await to.snapshots.open(name);
  const lease = await to.leases.acquire(snapshotLease(name));
  if (lease === null)
    throw new CopyRefusedError(`Another process makes snapshots of "${name}" in the target.`);
  try {
    for (const position of (await source.list()).reverse()) {
      const snapshot = await source.get(position);
      if (snapshot === null) continue;
      await target.put(snapshot, lease.fence, KEEP_SNAPSHOTS);
      copied.snapshots++;
    }
  } finally {
    await lease.release();
    await source.close();
    await target.close();
  }
}

async function copyEntries(source: Ledger, target: Ledger, start: number): Promise<number> {
  for (let position = start; ; ) {
    const entries = await source.read(position, ENTRIES_AT_ONCE);
    const last = entries.at(-1);
    if (last === undefined) return position - start;
    await target.append(entries.map(({ entry }) => entry));
    position = last.position;
  }
}
