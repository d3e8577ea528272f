import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { environmentVariable, settingNames } from '../../config/settings.ts';
import { Metrics } from '../../src/service/metrics.ts';

const page = new URL('../../docs/operations.md', import.meta.url);
const text = readFileSync(page, 'utf8');

it('docs/operations.md names metrics, settings and files that exist', async () => {
  const metrics = await new Metrics().text();
  const named = [...text.matchAll(/`(bandolier_[a-z_]+)/g)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(6);
  for (const name of named) expect(metrics).toContain(`# TYPE ${name} `);

  const variables = settingNames.map(environmentVariable);
  for (const [name] of text.matchAll(/\b(BANDOLIER_[A-Z_]+|REDIS_URL)\b/g)) expect(variables).toContain(name);

  for (const [, link] of text.matchAll(/\]\(([^)#:]+)\)/g))
    expect(existsSync(new URL(link, page))).toBe(true);
});
