/**
 * Loaded into a process with `--import`: for how long was its event loop held at a stretch? Milliseconds by the clock,
 * and of processor time of the main thread, which do not count what else runs on the machine. Answers, and begins
 * anew, when its parent sends a message.
 */
import { readFileSync } from 'node:fs';

const EVERY_MS = 5;
/** Nanoseconds that the main thread has run. */
const ran = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]);

let last = { clock: performance.now(), ran: ran() };
let longest = { clockMs: 0, processorMs: 0 };

setInterval(() => {
  const now = { clock: performance.now(), ran: ran() };
  longest = {
    clockMs: Math.max(longest.clockMs, now.clock - last.clock - EVERY_MS),
    processorMs: Math.max(longest.processorMs, (now.ran - last.ran) / 1e6),
  };
  last = now;
}, EVERY_MS).unref();

process.on('message', () => {
  process.send?.(longest);
  longest = { clockMs: 0, processorMs: 0 };
});
process.channel?.unref();
