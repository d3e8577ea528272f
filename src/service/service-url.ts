import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileDurably } from '../storage/durable-file.ts';

/** The file that says where the service of a data folder answers: only for the owner of the folder, as everything in it. */
function urlFile(dataDir: string): string {
  return join(dataDir, 'url');
}

/** Writes where this service answers. @returns what removes that again */
export async function keepServiceUrl(dataDir: string, url: string): Promise<() => Promise<void>> {
  await writeFileDurably(urlFile(dataDir), Buffer.from(`${url}\n`));
  return () => rm(urlFile(dataDir), { force: true });
}

/** Returns where the service of this data folder answers, or answered before it was killed; null: it has not said. */
export async function readServiceUrl(dataDir: string): Promise<string | null> {
  const text = await readFile(urlFile(dataDir), 'utf8').catch(() => '');
  return URL.canParse(text.trim()) ? text.trim() : null;
}
