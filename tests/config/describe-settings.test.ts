import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeSettings, settingsPage } from '../../config/describe-settings.ts';
import { readSettings } from '../../config/read-settings.ts';
import { settingNames, settingNotes } from '../../config/settings.ts';

const shownRedisUrl = (url: string) => {
  const rows = describeSettings(readSettings({ environment: { REDIS_URL: url } }));
  return rows.find(({ name }) => name === 'redisUrl')?.value;
};

describe('describeSettings', () => {
  it('shows every setting with its source and variable', () => {
    const rows = describeSettings(readSettings({ environment: { BANDOLIER_PORT: '9000' } }));
    expect(rows.map(({ name }) => name)).toEqual(settingNames);
    expect(rows.find(({ name }) => name === 'port')).toMatchObject({
      value: '9000',
      source: 'environment',
      variable: 'BANDOLIER_PORT',
    });
  });

  it('masks secrets and keeps what is needed to recognise them', () => {
    expect(shownRedisUrl('redis://user:hunter2@cache:6379/0?password=x')).toBe(
      'redis://***@cache:6379/0?***',
    );
    expect(shownRedisUrl('rediss://cache:6379')).toBe('rediss://cache:6379');
  });

  it('has a sentence for every setting', () => {
    for (const name of settingNames) expect(settingNotes(name).description).toMatch(/^[A-Z].*\.$/);
  });
});

it('docs/configuration.md says what the schema says (npx tsx config/write-settings-page.ts)', () => {
  expect(readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')).toBe(settingsPage());
});
