import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readSettings, SettingsError } from '../../config/read-settings.ts';
import { apiKeyOf, keepApiKey } from '../../src/service/api-key.ts';

const root = mkdtempSync(join(tmpdir(), 'bandolier-key-'));
afterAll(() => rmSync(root, { recursive: true }));
const REDIS = { REDIS_URL: 'redis://127.0.0.1' };
const keyOf = (host: string, environment: Record<string, string> = {}) =>
  apiKeyOf(readSettings({ folder: root, flags: { host, dataDir: root }, environment }).settings);

describe('apiKeyOf', () => {
  it.each(['127.0.0.1', '::1', 'localhost'])('needs none on %s', async (host) => {
    expect(await keyOf(host)).toEqual({ key: null, file: null, isNew: false });
    expect((await keyOf(host, REDIS)).key).toBeNull();
  });

  it('makes one for every other address, and finds it again once it is kept', async () => {
    const unkept = await keyOf('0.0.0.0');
    expect(readdirSync(root)).toEqual([]);
    const file = join(root, 'api-key');
    const made = await keyOf('0.0.0.0');
    expect(made).toEqual({ key: expect.stringMatching(/^[\da-f]{48}$/), file, isNew: true });
    expect(made.key).not.toBe(unkept.key);
    await keepApiKey(made);
    expect(readdirSync(root)).toEqual(['api-key']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const host of ['::', '192.168.1.4', 'example.org', '127.0.0.1.evil.org']) {
      const found = await keyOf(host);
      expect(found).toEqual({ key: made.key, file, isNew: false });
      await keepApiKey(found);
    }
    expect(readFileSync(file, 'utf8')).toBe(`${made.key}\n`);
  });

  it('makes none over Redis, where all routers need the same one', async () => {
    await expect(keyOf('0.0.0.0', REDIS)).rejects.toThrow(/need the same one: set BANDOLIER_API_KEY/);
    const shared = 'k'.repeat(16);
    expect((await keyOf('0.0.0.0', { ...REDIS, BANDOLIER_API_KEY: shared })).key).toBe(shared);
  });

  it('refuses a file without a key', async () => {
    for (const content of ['', '\n', 'short']) {
      writeFileSync(join(root, 'api-key'), content);
      const refusal = await keyOf('0.0.0.0').catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(SettingsError);
      expect(String(refusal)).toMatch(/api-key holds no key\. Delete it/);
    }
  });
});
