/**
 * A process that writes to every embedded store at once until it is killed, and says on its standard output what
 * it was promised, one line each, before it goes on. Compiled code alone: it starts in a tenth of a second.
 *
 * node append-until-killed.mjs <data folder> <round>
 */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { FileDecisionLogs } from '../../dist/src/decisions/file-decision-logs.js';
import { FileLedgers } from '../../dist/src/ledger/file-ledgers.js';
import { FileJobQueue } from '../../dist/src/queue/file-job-queue.js';
import { FileLeases } from '../../dist/src/snapshots/file-leases.js';
import { FileSnapshotStores } from '../../dist/src/snapshots/file-snapshot-store.js';

const [dataDir, round] = process.argv.slice(2);
const now = () => Date.now();
const segmentBytes = 64 * 1024;

/** Blocks until the other side has it: nothing is claimed that was not true at that time. */
function say(...words) {
  writeSync(1, `${words.join(' ')}\n`);
}

const ledger = await new FileLedgers(dataDir, { now, segmentBytes }).open('default');
const decisions = await new FileDecisionLogs(dataDir, { now, segmentBytes, retainMs: 1e9 }).open('default');
const queue = await FileJobQueue.open(join(dataDir, 'jobs'));
const snapshots = await new FileSnapshotStores(dataDir).open('default');
const lease = await new FileLeases(dataDir).acquire('snapshots-default');
say('lease', lease.fence);

async function appendEntries(producer) {
  for (let n = 0; ; ) {
    const count = 1 + (n % 3);
    const entries = Array.from({ length: count }, (_, i) => ({
      kind: 'forget',
      key: `${round}/${producer}/${n + i}`,
      at: n + i,
      tool: 'x'.repeat(((n + i) * 37) % 500),
    }));
    const last = await ledger.append(entries);
    say('entries', `${round}/${producer}/${n}`, count, last);
    n += count;
  }
}

async function makeDecisions() {
  const none = new Float32Array(0);
  const names = ['score', 'mean', 'base', 'gain', 'uncertainty', 'bonus', 'trials', 'propensity'];
  const columns = [...names, 'similarity', 'lexical', 'dense', 'retrieval'].map((name) => [name, none]);
  for (let n = 0; ; n++) {
    const id = `default.${round}-${n}`;
    const at = now();
    await decisions.append({
      ...{
        id,
        catalog: 'default',
        at,
        deadline: at + 600_000,
        revision: 'r1',
        position: 1,
        activatedAt: null,
      },
      ...{ policy: { name: 'cosine', version: 'cosine@1' }, fingerprint: null, extras: [], features: {} },
      ...{ exploration: 'greedy', propensityMethod: 'exact', temperature: 1, logProbability: 0 },
      ...{ k: 5, format: 'mcp', detail: 'full', learn: true, fallback: null, activation: 'later' },
      query: { embedding: new Float32Array(64), terms: { terms: new Uint32Array(0), weights: none } },
      // Each brings a name of its own, so that names are being written as well when the process is killed.
      candidates: ['known', `tool-${round}-${n}`],
      ...{ slate: [], reasons: [], hashes: [], columns: Object.fromEntries(columns) },
    });
    say('decision', id);
    if (n % 4 === 0 && (await decisions.activate(id, n)) === 'first') say('activated', id, n);
  }
}

async function addJobs() {
  queue.process('work', async ({ id }) => say('ran', id), { concurrency: 2 });
  for (let n = 0; ; n++) {
    // Every third has no handler and has to be there still at the end.
    const name = n % 3 === 0 ? 'later' : 'work';
    await queue.add([{ name, id: `${round}/${n}`, payload: n }]);
    say('job', `${round}/${n}`);
  }
}

async function makeSnapshots() {
  for (let n = 0; ; n++) {
    const position = await ledger.head();
    const bytes = Buffer.alloc(200_000, n % 251);
    await snapshots.put({ position, bytes }, lease.fence, 2);
    say('snapshot', position);
  }
}

await Promise.all([
  ...Array.from({ length: 12 }, (_, i) => appendEntries(i)),
  makeDecisions(),
  addJobs(),
  makeSnapshots(),
]);
