import { spawnSync } from 'node:child_process';

const hasSetpriv = spawnSync('setpriv', ['--version']).status === 0;

/**
 * The same words for a command that the kernel kills when this process ends, however that happens; the command itself where there is
 * no setpriv. A bench that is killed stops nothing by itself, and what it leaves behind would disturb the next one.
 */
export function endedWithUs(command: string, words: readonly string[]): [command: string, words: string[]] {
  return hasSetpriv ? ['setpriv', ['--pdeathsig', 'KILL', command, ...words]] : [command, [...words]];
}
