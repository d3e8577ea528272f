import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

/** What published figures have to name: commit, machine and command. */
export function measuredOn(command: string) {
  return {
    command,
    commit: commit(),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
  };
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return 'unknown';
  }
}
