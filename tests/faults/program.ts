import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { cleanEnvironment, mainFile } from '../e2e/running-service.ts';

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null;
  /** What it printed, both streams. */
  readonly output: string;
}

/** Starts `bandolier …`. */
export function startProgram(
  words: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [mainFile, ...words], {
    env: cleanEnvironment(settings),
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  return { child, ended: once(child, 'close').then(([code]) => ({ code, output })) };
}

/** Runs `bandolier …` to its end. */
export function runProgram(...words: string[]): Promise<Ended> {
  return startProgram(words).ended;
}

/** The same with settings in its environment. */
export function runProgramWith(
  settings: Readonly<Record<string, string>>,
  ...words: string[]
): Promise<Ended> {
  return startProgram(words, settings).ended;
}
