import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Everything below a folder: names and content of files. */
export function contentOf(folder: string): Buffer {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return Buffer.concat(files.flatMap((name) => [Buffer.from(name), readFileSync(join(folder, name))]));
}
