import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { endedWithUs } from '../../tests/set-up/ended-with-us.ts';

const hasTaskset = spawnSync('taskset', ['--version']).status === 0;

/** Which of two cores: the measured process has one for itself, whoever asks it has the other. */
export type Core = 'server' | 'client';

/** A process with all its threads on one core, where `taskset` can do that. It ends with this process. */
export class PinnedProcess {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Resolves when the process prints where it listens. */
  static async start(
    words: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<PinnedProcess> {
    const [command, ...rest] = [...pinTo('server'), process.execPath, ...words];
    const child = spawn(...endedWithUs(command, rest), {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.on('data', (chunk) => {
        output += chunk;
        const [, listening] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(output) ?? [];
        if (listening !== undefined) resolve(listening);
      });
      child.once('exit', (code) => reject(new Error(`${words.join(' ')} ended with ${code}:\n${output}`)));
    });
    return new PinnedProcess(child, url);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Seconds of processor time that the threads which it has now have used so far. */
  get cpuSeconds(): number {
    const folder = `/proc/${this.pid}/task`;
    const nanoseconds = readdirSync(folder).map((thread) =>
      Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]),
    );
    return nanoseconds.reduce((sum, time) => sum + time, 0) / 1e9;
  }

  /** Megabytes in memory, now and at most so far. */
  get memory(): { readonly now: number; readonly peak: number } {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const megabytes = (field: string): number =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
    return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }
}

/** Moves this process to the core of those who ask. */
export function pinThisProcess(): void {
  if (hasTaskset) spawnSync('taskset', ['--all-tasks', '-p', '-c', '0', String(process.pid)]);
}

/** Words before a command that keep it on a core; none where there is no taskset. */
export function pinTo(core: Core): string[] {
  return hasTaskset ? ['taskset', '-c', core === 'server' ? '1' : '0'] : [];
}

export const pinning = hasTaskset
  ? 'server on core 1, load on core 0'
  : 'no taskset here: server and load share the cores';
