// Run by `npm install` and `npm ci` in a clone, and by `npm pack`: builds dist/, so that `npx bandolier` works.
// Without the compiler (--omit=dev, --omit=optional) an installation still succeeds, and what is built stays as it is.
// The package that `npm pack` makes has dist/ and no sources: an installation inside it has nothing to build.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const node = (stdio, ...words) => spawnSync(process.execPath, words, { stdio }).status;

if (existsSync('tsconfig.build.json')) {
  if (node('ignore', 'node_modules/typescript/bin/tsc', '--version') === 0)
    process.exitCode = node('inherit', '.ci/build.js') ?? 1;
  else if (existsSync('dist/bundle/main.js'))
    console.log('There is no compiler, so dist/ stays as it was built.');
  else console.log('Not built, because there is no compiler: `npm ci` without --omit installs it.');
}
