/**
 * What does merging tools that do the same come to: how many tools are left, what becomes of retrieval when labels are re-mapped, what is
 * saved, and how long it takes? The figures of ToolScope (tables 2, 5 and 6, appendices E and K) stand beside them.
 *
 *   npx tsx --expose-gc bench/merging.ts [--data ../shared/data] [--model <folder>] [--parts quality,sweep,silhouette,agent,scale]
 *
 * Thresholds were chosen on the parts marked "chosen on".
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { measuredOn } from './measured-on.ts';
import { MergeBench } from './merging/merge-bench.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
    parts: { type: 'string', default: 'quality,sweep,silhouette,agent,scale' },
  },
});

async function main(): Promise<void> {
  if (!existsSync(options.data)) {
    console.log(`No data sets in ${options.data} (option --data).`);
    return;
  }
  const embedder = await openModelFolder(options.model);
  const bench = new MergeBench(options.data, await loadKernels(), embedder);
  const result: Record<string, unknown> = {
    ...measuredOn('npx tsx --expose-gc bench/merging.ts'),
    model: basename(options.model),
  };
  for (const part of options.parts.split(',')) {
    console.log(`\n## ${part}\n`);
    result[part] = await bench.run(part);
  }
  await embedder.close();
  const folder = join(packageRoot(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'merging.json'), `${JSON.stringify(result, null, 2)}\n`);
}

await main();
