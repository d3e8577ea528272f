import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Admission } from '../../src/http/admission.ts';
import { apiEndpoints, createApp } from '../../src/http/app.ts';
import { type Listener, listen } from '../../src/http/listen.ts';
import { installedProgram } from '../set-up/installed-program.ts';
import { temporaryFolder } from './running-service.ts';

const chromium = installedProgram(['chromium', 'chromium-browser', 'google-chrome'], 'chromium');
const folder = temporaryFolder();
let listener: Listener;

beforeAll(async () => {
  const admission = new Admission(100);
  const app = createApp({} as never, admission, { error: () => {} });
  listener = await listen(app, admission, '127.0.0.1', 0);
});
afterAll(async () => {
  await listener.close(0);
  folder.remove();
});

/** The page after its scripts ran, as a browser without any network sees it, and what it complained about. */
async function browse(url: string): Promise<{ readonly html: string; readonly complaints: string }> {
  const words = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    `--user-data-dir=${folder.path}`,
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
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
  return output;
}

describe.skipIf(chromium.missing !== null)(`/docs in a browser ${chromium.missing ?? ''}`.trim(), () => {
  it('shows every endpoint, without a network and without breaking its own policy', async () => {
    const { html, complaints } = await browse(`${listener.url}/docs`);
    const endpoints = apiEndpoints({} as never);
    expect(html).toContain('data-path="/v1/route"');
    expect(html).toContain('Which tools are worth carrying for this query?');
    expect(html.match(/class="opblock /g)).toHaveLength(endpoints.length);
    expect(complaints).not.toMatch(/Content Security Policy|Refused to/);
  });
});
