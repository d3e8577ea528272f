/**
 * How long does it take to read OpenAPI documents as tools, and are all operations there? Every `.json` and `.yaml` file of a folder that is
 * an OpenAPI 3 document, and one made of a thousand operations with schemas that share parts. The second opinion
 * is `@readme/openapi-parser`, which gives up on the one that is made: its schemas refer to each other 300 deep. `--folder node_modules/some-package` reads documents of a published package.
 *
 *   npx tsx bench/sources.ts [--folder /tmp/documents] [--operations 1000] [--rounds 3]
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { dereference } from '@readme/openapi-parser';
import { parse } from 'yaml';
import { toolFaults } from '../src/http/wire/tool-faults.ts';
import { readTools } from '../src/sources/formats/read-tools.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';

const { values: options } = parseArgs({
  options: {
    folder: { type: 'string' },
    operations: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '3' },
  },
});

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** Operations of a document as another parser reads it, which resolves references within it and none out of it; null: none of 3.x. */
async function countOperations(text: string): Promise<number | null> {
  let document: unknown;
  try {
    document = text.trimStart().startsWith('{') ? JSON.parse(text) : parse(text);
  } catch {
    return null;
  }
  if (!/^3\.[01]/.test(String((document as { openapi?: unknown })?.openapi))) return null;
  const { paths = {} } = await dereference(document as Document, { resolve: { external: false } });
  return Object.values(paths).reduce((sum, item) => {
    return sum + METHODS.filter((method) => Object.hasOwn(Object(item), method)).length;
  }, 0);
}

type Document = Exclude<Parameters<typeof dereference>[0], string>;

function madeDocument(operations: number): string {
  const schemas = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [
      `Part${i}`,
      {
        type: 'object',
        description: `Part number ${i} of an order, with all that is known of it.`,
        properties: {
          id: { type: 'string', description: 'What it is called.' },
          next: { $ref: `#/components/schemas/Part${(i + 1) % 300}` },
          amounts: { type: 'array', items: { type: 'number' } },
        },
      },
    ]),
  );
  const paths = Object.fromEntries(
    Array.from({ length: operations }, (_, i) => [
      `/orders/${i}/{id}`,
      {
        post: {
          operationId: `changeOrder${i}`,
          summary: `Change what order number ${i} holds.`,
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
          requestBody: {
            content: { 'application/json': { schema: { $ref: `#/components/schemas/Part${i % 300}` } } },
          },
        },
      },
    ]),
  );
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'Made' }, paths, components: { schemas } });
}

function* documents(): Generator<readonly [name: string, text: string, operations?: number]> {
  const made = Number(options.operations);
  yield ['made', madeDocument(made), made];
  if (options.folder === undefined) return;
  for (const file of readdirSync(options.folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (/\.(json|ya?ml)$/.test(file)) yield [file, readFileSync(join(options.folder, file), 'utf8')];
  }
}

const rows = [];
for (const [document, text, made] of documents()) {
  const operations = made ?? (await countOperations(text));
  if (operations === null) continue;
  const seconds: number[] = [];
  let read = { tools: 0, refused: 0 };
  for (let round = 0; round < Number(options.rounds); round++) {
    const began = process.cpuUsage();
    const { tools, refused } = readTools(text, toolFaults);
    const { user, system } = process.cpuUsage(began);
    seconds.push((user + system) / 1e6);
    read = { tools: tools.length, refused: refused.length };
  }
  const megabytes = Number((text.length / 1e6).toFixed(1));
  const isWhole = read.tools + read.refused === operations;
  rows.push({
    document,
    megabytes,
    operations,
    ...read,
    isWhole,
    seconds: Number(median(seconds).toFixed(2)),
  });
}
console.table(rows);
console.log(measuredOn('npx tsx bench/sources.ts'));
if (rows.some(({ isWhole }) => !isWhole)) process.exitCode = 1;
