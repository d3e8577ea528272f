// `npm run build`: compiles the sources to dist/, and then joins its modules and the packages that they need into a few files in
// dist/bundle/. One by one, Node takes longer to find, read and compile the nine hundred that a service needs than the service
// to open its data. Threads start from the modules themselves.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

/** Packages that are loaded where they are needed, are not installed everywhere, or find files of their own beside their modules. */
const APART = [
  ...['@modelcontextprotocol/*', 'bullmq', 'cli-progress', 'gpt-tokenizer', 'hnswlib-node', 'ioredis'],
  ...['ml-matrix', 'onnxruntime-node', 'swagger-ui-dist'],
];
/** What the compiler ends with where it has written everything in spite of type errors. */
const WITH_ERRORS = 2;

const compiler = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'];
const { status } = spawnSync(process.execPath, compiler, { stdio: 'inherit' });
process.exitCode = status ?? 1;
if (status === 0 || status === WITH_ERRORS) await bundle();

async function bundle() {
  // The names of the files depend on what is in them.
  rmSync('dist/bundle', { recursive: true, force: true });
  await build({
    entryPoints: ['dist/src/main.js'],
    outdir: 'dist/bundle',
    external: APART,
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20' },
    // Packages in CommonJS ask for the modules of Node by it.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    logLevel: 'warning',
  });
}
