import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Which process, for people, and which kernel it runs on. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /**
   * Of the machine's current run, the same in all its containers; null where it is not known, and every other
   * process counts as one on another machine.
   */
  readonly kernel: string | null;
}

export function currentProcess(): ProcessIdentity {
  const host = hostname();
  return { pid: process.pid, host, kernel: process.platform === 'linux' ? bootId() : host };
}

function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null; // no /proc
  }
}
