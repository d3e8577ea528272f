import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { installedProgram } from '../set-up/installed-program.ts';
import { temporaryFolder } from './running-service.ts';

export const chromium = installedProgram(['chromium', 'chromium-browser', 'google-chrome'], 'chromium');

/** A page after its scripts ran, and what the browser complained about. */
export interface SeenPage {
  readonly html: string;
  readonly complaints: string;
}

/**
 * Opens a page in a browser without any network but this machine.
 * @param names that lead to this machine, as an attacker's domain can.
 */
export async function browse(url: string, names: readonly string[] = []): Promise<SeenPage> {
  const profile = temporaryFolder();
  const rules = [...names.map((name) => `MAP ${name} 127.0.0.1`), 'MAP * ~NOTFOUND', 'EXCLUDE 127.0.0.1'];
  const words = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    `--user-data-dir=${profile.path}`,
    `--host-resolver-rules=${rules.join(', ')}`,
    '--enable-logging=stderr',
    '--virtual-time-budget=20000',
    '--dump-dom',
    url,
  ];
  const child = spawn(chromium.path as string, words);
  const output = { html: '', complaints: '' };
  child.stdout.on('data', (chunk) => {
    output.html += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.complaints += chunk;
  });
  await once(child, 'close');
  profile.remove();
  return output;
}
