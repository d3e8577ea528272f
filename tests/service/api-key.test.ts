import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readSettings } from '../../config/read-settings.ts';
import { apiKeyOf } from '../../src/service/api-key.ts';

const root = mkdtempSync(join(tmpdir(), 'bandolier-key-'));
afterAll(() => rmSync(root, { recursive: true }));
const REDIS = { REDIS_URL: 'redis://127.0.0.1' };
const keyOf = (host: string, environment: Record<string, string> = {}) =>
  apiKeyOf(readSettings({ folder: root, flags: { host, dataDir: root }, environment }).settings);

describe('apiKeyOf', () => {
  it.each(['127.0.0.1', '::1', 'localhost'])('needs none on %s', async (host) => {
    expect(await keyOf(host)).toEqual({ key: null, madeIn: null });
    expect((await keyOf(host, REDIS)).key).toBeNull();
  });

  it('makes one for every other address, and finds it again', async () => {
    const made = await keyOf('0.0.0.0');
    expect(made).toEqual({ key: expect.stringMatching(/^[\da-f]{48}$/), madeIn: join(root, 'api-key') });
    expect(statSync(join(root, 'api-key')).mode & 0o777).toBe(0o600);
    for (const host of ['::', '192.168.1.4', 'example.org', '127.0.0.1.evil.org']) {
      expect(await keyOf(host)).toEqual({ key: made.key, madeIn: null });
    }
  });

  it('makes none over Redis, where all routers need the same one', async () => {
    await expect(keyOf('0.0.0.0', REDIS)).rejects.toThrow(/need the same one: set BANDOLIER_API_KEY/);
    const shared = 'k'.repeat(16);
    expect((await keyOf('0.0.0.0', { ...REDIS, BANDOLIER_API_KEY: shared })).key).toBe(shared);
  });

  it('refuses a file without a key', async () => {
    writeFileSync(join(root, 'api-key'), '\n');
    await expect(keyOf('0.0.0.0')).rejects.toThrow(/api-key holds no key\. Delete it/);
  });
});
