import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileDurably } from './durable-file.ts';
import { errorCode } from './storage-errors.ts';

/** Which deployment the content of a data folder is of; it gets a name of its own if it has none. */
export async function readDeployment(dataDir: string): Promise<string> {
  try {
    return (await readFile(fileIn(dataDir), 'utf8')).trim();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  const id = randomUUID();
  await writeDeployment(dataDir, id);
  return id;
}

/** The content of this data folder is a copy of that deployment. */
export function writeDeployment(dataDir: string, id: string): Promise<void> {
  return writeFileDurably(fileIn(dataDir), Buffer.from(`${id}\n`));
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'deployment');
}
