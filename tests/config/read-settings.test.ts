import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CONFIG_FILE, readSettings, SettingsError, type SettingsInput } from '../../config/read-settings.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bandolier-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (input: SettingsInput = {}) => readSettings({ environment: {}, folder, ...input });
const writeConfig = (text: string) => writeFileSync(join(folder, CONFIG_FILE), text);

function faultsOf(input: SettingsInput = {}): readonly string[] {
  try {
    read(input);
  } catch (error) {
    if (error instanceof SettingsError) return error.faults;
    throw error;
  }
  return [];
}

describe('readSettings', () => {
  it('answers the documented defaults, with the data folder as an absolute path', () => {
    const { settings, sources } = read();
    expect(settings).toMatchObject({ host: '127.0.0.1', port: 8787, dataDir: join(folder, '.bandolier') });
    expect(settings.redisUrl).toBeUndefined();
    expect(new Set(Object.values(sources))).toEqual(new Set(['default']));
  });

  it('lets a flag win over the environment, the environment over the file, the file over the default', () => {
    writeConfig('{"port": 1, "logLevel": "debug", "dataDir": "from-file"}');
    const environment = { BANDOLIER_PORT: '2', BANDOLIER_DATA_DIR: 'from-environment' };
    const { settings, sources } = read({ environment, flags: { port: '3' } });
    expect(settings).toMatchObject({ port: 3, logLevel: 'debug', dataDir: join(folder, 'from-environment') });
    expect(sources).toMatchObject({
      port: 'flag',
      dataDir: 'environment',
      logLevel: 'file',
      host: 'default',
    });
  });

  it('names the nearest known key for an unknown one', () => {
    writeConfig('{"prot": 9000}');
    expect(faultsOf()).toEqual([expect.stringMatching(/"prot".*Did you mean "port"/)]);
    writeConfig('{}');
    expect(faultsOf({ environment: { BANDOLIER_DATADIR: 'x' } })).toEqual([
      expect.stringMatching(/BANDOLIER_DATADIR.*Did you mean BANDOLIER_DATA_DIR/),
    ]);
  });

  it('reports every fault at once, each with the place to look at', () => {
    writeConfig('{"port": "9000", "nonsense": true}');
    const faults = faultsOf({ environment: { BANDOLIER_LOG_LEVEL: 'loud', REDIS_URL: 'http://x' } });
    expect(faults).toHaveLength(4);
    expect(faults.join('\n')).toMatch(/nonsense[\s\S]*port in .*bandolier.config.json: .*number/);
    expect(faults.join('\n')).toMatch(/BANDOLIER_LOG_LEVEL: /);
    expect(faults.join('\n')).toMatch(/REDIS_URL: /);
  });

  it.each(['12.5', 'NaN', '1e3', '-1', '70000', 'port'])('refuses the port %s', (port) => {
    expect(faultsOf({ environment: { BANDOLIER_PORT: port } })).toHaveLength(1);
  });

  it.each(['[]', 'null', '{', '"text"'])('refuses a configuration file that holds %s', (text) => {
    writeConfig(text);
    expect(faultsOf()).toEqual([expect.stringMatching(/not a JSON object/)]);
  });

  it('ignores a `__proto__` key’s powers and calls it unknown', () => {
    writeConfig('{"__proto__": {"port": 1}}');
    expect(faultsOf()).toEqual([expect.stringMatching(/unknown key "__proto__"/)]);
  });

  it('treats an empty variable as not set', () => {
    expect(read({ environment: { REDIS_URL: '', BANDOLIER_PORT: '' } }).settings.port).toBe(8787);
  });

  it.each(['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost', '0.0.0.0', 'example.org'])(
    'listens on %s',
    (host) => {
      expect(read({ flags: { host } }).settings.host).toBe(host);
    },
  );

  it('keeps `bundled` and `none` as they are and resolves any other model folder', () => {
    expect(read({ flags: { model: 'none' } }).settings.model).toBe('none');
    expect(read({ flags: { model: 'my-model' } }).settings.model).toBe(join(folder, 'my-model'));
  });
});
