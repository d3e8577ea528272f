// `npm run build`: compiles the sources to dist/, and then joins its modules and the packages that they need into a few files in
// dist/bundle/. One by one, Node takes longer to find, read and compile the nine hundred that a service needs than the service
// to open its data. Threads start from the modules themselves.
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';

/** Packages that are loaded where they are needed, are not installed everywhere, or find files of their own beside their modules. */
const APART = [
  ...['@modelcontextprotocol/*', 'bullmq', 'cli-progress', 'gpt-tokenizer', 'hnswlib-node', 'ioredis'],
  ...['ml-matrix', 'onnxruntime-node', 'swagger-ui-dist'],
];
const BUNDLE = 'dist/bundle';
/** What the compiler ends with where it has written everything in spite of type errors. */
const WITH_ERRORS = 2;

const compiler = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'];
const { status } = spawnSync(process.execPath, compiler, { stdio: 'inherit' });
process.exitCode = status ?? 1;
if (status === 0 || status === WITH_ERRORS) await bundle();

async function bundle() {
  const { metafile } = await build({
    entryPoints: ['dist/src/main.js'],
    outdir: BUNDLE,
    metafile: true,
    // For `--enable-source-maps`: stacks name files of the sources, though these need not be there.
    ...{ sourcemap: 'linked', sourcesContent: false },
    external: APART,
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20' },
    // Packages in CommonJS ask for the modules of Node by it.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    logLevel: 'warning',
  });
  // Names depend on what is in the files. What a build before left goes last, so that commands that start meanwhile find all of theirs.
  const written = new Set(Object.keys(metafile.outputs).map((path) => relative(BUNDLE, path)));
  for (const name of readdirSync(BUNDLE)) if (!written.has(name)) rmSync(join(BUNDLE, name));
}
