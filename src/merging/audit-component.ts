import { MAX_MERGE_MEMBERS } from '../ledger/merge-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { Steps } from '../scheduling/slices.ts';
import type { Audit } from './judge.ts';
import { prepared, representativeOf, Union } from './unite-definitions.ts';

/** Tools that are audited together; of more, each lot has the representative in it. */
const AUDITED_AT_ONCE = 100;

/** A live tool of the catalog. */
export interface MergeableTool {
  readonly slot: number;
  readonly tool: ToolDefinition;
  /** `definitionHash` of it. */
  readonly hash: string;
}

interface AuditedClusters {
  readonly clusters: readonly (readonly MergeableTool[])[];
  readonly reason: string;
  readonly isSplit: boolean;
  /** Tools about which the judge did not decide; they are in no cluster. */
  readonly undecided: readonly MergeableTool[];
}

/** Audits a component: at once, or lot by lot with the representative in each, so that a thousand copies can be one merge. */
export async function auditComponent(
  members: readonly MergeableTool[],
  audit: (tools: readonly MergeableTool[]) => Promise<Audit>,
): Promise<AuditedClusters> {
  const name = representativeOf(members.map(({ tool }) => tool.name));
  const head = members.find(({ tool }) => tool.name === name)!;
  const others = members.filter((one) => one !== head);
  const whole: MergeableTool[] = [head];
  const apart: MergeableTool[][] = [];
  const reasons: string[] = [];
  const undecided: MergeableTool[] = [];
  let isSplit = false;
  for (let from = 0; from < others.length; from += AUDITED_AT_ONCE - 1) {
    const lot = [head, ...others.slice(from, from + AUDITED_AT_ONCE - 1)];
    const { reason, ...said } = await audit(lot);
    if (
      said.verdict === 'UNDECIDED' ||
      (said.verdict === 'MERGE_BAD' && !areClusters(said.clusters, lot.length))
    ) {
      undecided.push(...lot);
      continue;
    }
    reasons.push(reason);
    if (said.verdict === 'MERGE_BAD') isSplit = true;
    const clusters = said.verdict === 'MERGE_OK' ? [[...lot.keys()]] : said.clusters;
    for (const cluster of clusters) {
      const tools = cluster.map((at) => lot[at]);
      if (tools.includes(head)) whole.push(...tools.filter((tool) => tool !== head));
      else apart.push(tools);
    }
  }
  const clusters = [whole, ...apart].flatMap((cluster) => inMerges(cluster));
  return { clusters, reason: reasons.at(isSplit ? -1 : 0) ?? '', isSplit, undecided };
}

/** Whether clusters are lists of indices below `size`, none of which is in two of them. */
function areClusters(clusters: readonly (readonly number[])[], size: number): boolean {
  const all = clusters.flat();
  return new Set(all).size === all.length && all.every((at) => Number.isInteger(at) && at >= 0 && at < size);
}

/** A cluster in as many parts as merges of the largest size take. */
function inMerges(cluster: readonly MergeableTool[]): MergeableTool[][] {
  const sorted = [...cluster].sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1));
  const parts = Math.ceil(sorted.length / MAX_MERGE_MEMBERS);
  return Array.from({ length: parts }, (_, at) =>
    sorted.slice(at * MAX_MERGE_MEMBERS, (at + 1) * MAX_MERGE_MEMBERS),
  );
}

/** Takes tools that do the same apart where their parameters cannot be united. Returns groups that can be, and how many tools are in none. */
export function* unitable(
  cluster: readonly MergeableTool[],
): Steps<{ groups: MergeableTool[][]; left: number }> {
  const byShape = new Map<string, MergeableTool[]>();
  let rest: MergeableTool[] = [];
  for (const one of [...cluster].sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1))) {
    yield;
    const { shape, closed } = prepared(one.tool);
    // What cannot be compared is united with its like alone.
    const alike = closed === null ? rest : (byShape.get(shape) ?? []);
    alike.push(one);
    if (closed !== null) byShape.set(shape, alike);
  }
  const found = [...byShape.values()];
  while (rest.length > 0) {
    const name = representativeOf(rest.map(({ tool }) => tool.name));
    const head = rest.find(({ tool }) => tool.name === name)!;
    const union = new Union(head.tool);
    const group = new Set([head]);
    for (const one of rest) {
      yield;
      if (one !== head && (yield* union.add(one.tool)) === null) group.add(one);
    }
    found.push([...group]);
    rest = rest.filter((one) => !group.has(one));
  }
  const groups = found.filter(({ length }) => length > 1);
  return { groups, left: found.length - groups.length };
}
