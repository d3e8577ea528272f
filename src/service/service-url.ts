import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileDurably } from '../storage/durable-file.ts';

/** The file that says where the service of a data folder answers: only for the owner of the folder, as everything in it. */
function urlFile(dataDir: string): string {
  return join(dataDir, 'url');
}

/** The servers that a service was started with. */
export interface ServedConfig {
  /** Path of the configuration. */
  readonly file: string;
  /** Different for files whose servers differ. */
  readonly digest: string;
}

/** Where the service of a data folder answers, and the configuration that it was started with. */
export interface ServiceUrl {
  readonly url: string;
  readonly config: ServedConfig | null;
}

/** Writes where this service answers. @returns what removes that again */
export async function keepServiceUrl(dataDir: string, service: ServiceUrl): Promise<() => Promise<void>> {
  await writeFileDurably(
    urlFile(dataDir),
    Buffer.from(`${service.url}\n${JSON.stringify(service.config)}\n`),
  );
  return () => rm(urlFile(dataDir), { force: true });
}

/** Returns where the service of this data folder answers, or answered before it was killed; null: it has not said. */
export async function readServiceUrl(dataDir: string): Promise<ServiceUrl | null> {
  const text = await readFile(urlFile(dataDir), 'utf8').catch(() => '');
  const [url, config = 'null'] = text.split('\n');
  try {
    return URL.canParse(url) ? { url, config: JSON.parse(config) as ServedConfig | null } : null;
  } catch {
    return null;
  }
}
