import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Admission } from '../../src/http/admission.ts';
import { apiEndpoints, createApp } from '../../src/http/app.ts';
import { type Listener, listen } from '../../src/http/listen.ts';
import { RequestGuard } from '../../src/http/request-guard.ts';
import { browse, chromium } from './browser.ts';

let listener: Listener;

beforeAll(async () => {
  const admission = new Admission();
  const app = createApp({} as never, admission, { error: () => {} });
  listener = await listen(app, { admission, guard: new RequestGuard(), host: '127.0.0.1', port: 0 });
});
afterAll(() => listener.close(0));

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
