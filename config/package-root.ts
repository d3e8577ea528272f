import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this package, wherever it runs from: the sources, `dist/`, or the node_modules of another package. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!isPackageRoot(folder)) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('The package.json of bandolier is missing above its own code.');
    folder = parent;
  }
  return folder;
}

/** The version of this package. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).version;
}

/** The compiled entry file of a worker thread. Node 20 cannot load TypeScript inside a worker. */
export function threadFile(name: string): string {
  const file = join(packageRoot(), 'dist', 'workers', `${name}.js`);
  if (!existsSync(file)) throw new Error(`${file} is missing: run "npm run build" first.`);
  return file;
}

function isPackageRoot(folder: string): boolean {
  const file = join(folder, 'package.json');
  return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).name === 'bandolier';
}
