/**
 * A worker whose event loop is blocked in the middle of a job for longer than the lock of the job holds.
 * Arguments: URL of Redis, lock in ms, how long to block in ms. Prints `taken`, then `done`.
 */
import { RedisLedgers } from '../../dist/src/ledger/redis-ledgers.js';
import { BullmqJobQueue } from '../../dist/src/queue/bullmq-job-queue.js';
import { RedisConnections } from '../../dist/src/redis/redis-connection.js';

const [url, lockMs, blockMs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const connections = await RedisConnections.open(url);
const queue = new BullmqJobQueue(connections, { lockMs });
const ledger = await new RedisLedgers(connections).open('default');
queue.process(
  'entries',
  async ({ payload }) => {
    process.stdout.write('taken\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
    await ledger.append([payload]);
    process.stdout.write('done\n');
  },
  { concurrency: 1 },
);
