import { type Era, stdioTransport } from '../set-up/mcp-clients.ts';
import { cleanEnvironment, mainFile } from './running-service.ts';

/** A transport to `bandolier mcp` over this data folder, started as an editor does. @param words of its command line */
export function bandolierMcp(
  era: Era,
  dataDir: string,
  words: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): never {
  const environment = cleanEnvironment({
    BANDOLIER_DATA_DIR: dataDir,
    BANDOLIER_PORT: '0',
    BANDOLIER_MAX_WAIT_MS: '60000',
    ...settings,
  });
  return stdioTransport(era, process.execPath, [mainFile, 'mcp', ...words], environment);
}
