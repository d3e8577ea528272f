import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { type MergePassRequest, proposeMerges } from '../../src/merging/propose-merges.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { denseText } from '../../src/retrieval/document-text.ts';
import { median } from '../median.ts';
import { ToolCatalog, toolsOfSet } from './tool-catalog.ts';

const SETS = ['seal-tools', 'xlam-toolret', 'mcp-zero'];
const TOOLS = 10_000;
const CHANGES = 40;

/** Time and memory of a whole pass over 10,000 real tools, and of passes after one tool changed. */
export async function scale(
  data: string,
  kernels: Kernels,
  embedder: Embedder,
  requestOf: (catalog: ToolCatalog) => MergePassRequest,
) {
  const definitions = tools(data);
  const catalog = await ToolCatalog.of(definitions, kernels, embedder);
  const request = requestOf(catalog);
  globalThis.gc?.();
  const before = process.memoryUsage();
  const start = performance.now();
  const cpu = process.cpuUsage();
  let longest = 0;
  let last = start;
  let ticking = true;
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (ticking) setImmediate(tick);
  };
  tick();
  const whole = await proposeMerges(request);
  ticking = false;
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - start) / 1000;
  const peakMegabytes = process.resourceUsage().maxRSS / 1024;
  globalThis.gc?.();
  const kept = (process.memoryUsage().heapUsed - before.heapUsed) / 1e6;
  const times: number[] = [];
  const cpuTimes: number[] = [];
  const listed = [...catalog.tools];
  for (let change = 0; change < CHANGES; change++) {
    const slot = (change * 7919) % listed.length;
    const tool = {
      ...listed[slot].tool,
      description: `${listed[slot].tool.description} It is number ${change}.`,
    };
    const [vector] = await embedder.embedDocuments([denseText(tool)]);
    catalog.vectors.put(slot, vector);
    listed[slot] = { slot, tool, hash: definitionHash(tool) };
    const from = performance.now();
    const used = process.cpuUsage();
    await proposeMerges({ ...request, tools: listed, previous: whole.findings });
    times.push(performance.now() - from);
    cpuTimes.push(process.cpuUsage(used).user / 1000);
  }
  catalog.free();
  const row = {
    tools: definitions.length,
    seconds,
    cpuSeconds: (user + system) / 1e6,
    longestTurnMs: longest,
    counts: whole.counts,
    proposals: whole.proposals.length,
    peakMegabytes,
    megabytesBefore: before.rss / 1e6,
    findingsMegabytes: kept,
    incrementalMs: { median: median(times), longest: Math.max(...times), cpu: median(cpuTimes) },
  };
  console.log(row);
  return row;
}

function tools(data: string): ToolDefinition[] {
  const names = new Set<string>();
  return SETS.filter((set) => existsSync(join(data, set)))
    .flatMap((set) => toolsOfSet(data, set).map(({ tool }) => tool))
    .map((tool) => {
      let { name } = tool;
      while (names.has(name)) name += '_';
      names.add(name);
      return { ...tool, name };
    })
    .slice(0, TOOLS);
}
