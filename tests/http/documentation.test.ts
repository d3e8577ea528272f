import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ZodType } from 'zod';
import { apiEndpoints } from '../../src/http/app.ts';
import { openApiDocument } from '../../src/http/documentation.ts';
import { appWith } from './fake-nouns.ts';

type Content = Record<string, { schema: ZodType; example: unknown }>;

describe('/docs', () => {
  it('loads everything from here, under a policy that forbids anything else', async () => {
    const { app } = appWith();
    const page = await app.request('/docs');
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'/);
    const html = await page.text();
    const links = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => link);
    expect(links).toHaveLength(4);
    for (const link of [...links, 'openapi.json']) {
      const response = await app.request(`/${link}`);
      expect([link, response.status]).toEqual([link, 200]);
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(50);
    }
    expect(html).not.toMatch(/https?:\/\//);
  });
});

describe('openapi.json', () => {
  const document = openApiDocument(apiEndpoints({} as never)) as {
    paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
  };
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

  it('is committed as the schemas have it (npm run openapi)', () => {
    const committed = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
    expect(committed).toBe(`${JSON.stringify(document, null, 2)}\n`);
  });

  it('has a name of its own and the shared problems for every operation', () => {
    const names = operations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { responses } of operations) expect(Object.keys(responses)).toContain('503');
  });

  it('has an example of every body, which passes its schema', () => {
    const bodies = apiEndpoints({} as never).flatMap(({ documentation: { operationId, request } }) => {
      const content = (request?.body?.content as Content | undefined)?.['application/json'];
      return content === undefined ? [] : [{ operationId, ...content }];
    });
    expect(bodies.length).toBeGreaterThan(10);
    for (const { operationId, schema, example } of bodies) {
      expect([operationId, example]).not.toContain(undefined);
      expect([operationId, schema.safeParse(example).error]).toEqual([operationId, undefined]);
    }
  });

  it('has no pattern that is more than a pattern', () => {
    const patterns = [...JSON.stringify(document).matchAll(/"pattern":"((?:[^"\\]|\\.)*)"/g)];
    for (const [, pattern] of patterns) expect(pattern).toMatch(/^\^.*\$$/);
  });
});
