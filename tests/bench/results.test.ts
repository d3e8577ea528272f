import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../config/package-root.ts';

const folder = join(packageRoot(), 'bench', 'results');

it('results name no folder of the machine that they were measured on', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.json'),
  );
  expect(files).not.toEqual([]);
  const withPaths = files.filter((name) =>
    /"(?:\/|[A-Z]:\\)\w/.test(readFileSync(join(folder, name), 'utf8')),
  );
  expect(withPaths).toEqual([]);
});
