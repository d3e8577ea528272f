import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Which process, told apart from one that got the same number later, or on another machine. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** Of the machine's current run; empty where the system does not tell (only Linux does). */
  readonly boot: string;
  /** Clock ticks after boot at which the process started; empty where the system does not tell. */
  readonly started: string;
}

export function currentProcess(): ProcessIdentity {
  return {
    pid: process.pid,
    host: hostname(),
    boot: bootId(),
    started: processState(process.pid)?.started ?? '',
  };
}

/** Does this process still run? `unknown` when it belongs to another machine. */
export function livenessOf(other: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  if (other.host !== hostname()) return 'unknown';
  if (other.boot !== bootId() || !exists(other.pid)) return 'dead';
  const state = processState(other.pid);
  if (state === null) return 'alive';
  const ended = state.code === 'Z' || state.code === 'X';
  return ended || state.started !== other.started ? 'dead' : 'alive';
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Fields 3 and 22 of /proc/<pid>/stat (proc(5)); null without /proc. The name in field 2 may hold anything. */
function processState(pid: number): { code: string; started: string } | null {
  const text = readText(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.length > 19 ? { code: fields[0], started: fields[19] } : null;
}

function bootId(): string {
  return readText('/proc/sys/kernel/random/boot_id').trim();
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
