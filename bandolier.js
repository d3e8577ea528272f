#!/usr/bin/env node
// What `bandolier` starts. It imports nothing before it knows that this Node can load the rest, so an old one is told
// which is needed, and so is somebody whose clone was not built. It has to be readable for Node 12.
const OLDEST = [20, 19];
const MAIN = new URL('dist/bundle/main.js', import.meta.url);

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  refuse(`Bandolier needs Node ${OLDEST.join('.')} or newer; this is ${process.versions.node}.`);
} else {
  import('node:fs').then(({ existsSync }) => {
    if (existsSync(MAIN)) return import(MAIN.href);
    refuse(
      'This clone of Bandolier is not built: run `npm ci`, without --omit, which installs the compiler and builds.',
    );
  });
}

function refuse(why) {
  process.stderr.write(`${why}\n`);
  process.exitCode = 1;
}
