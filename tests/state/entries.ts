import type {
  Entry,
  InstructionsEntry,
  ObservationEntry,
  ObservedDecision,
  OutcomeReport,
  ToolsEntry,
} from '../../src/ledger/entry.ts';
import type { InstructionDraft } from '../../src/ledger/instruction-definition.ts';
import type { SourceDefinition } from '../../src/ledger/source-definition.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import type { FoldResult, RewardOutcome } from '../../src/state/fold-result.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';

/** 2026-01-01, a time from which all entries here count. */
export const START = Date.UTC(2026, 0, 1);
export const MINUTE = 60_000;
const DIMENSIONS = 4;

/** A state and the entries it was folded from, so that a test can fold them again elsewhere. */
export class Story {
  readonly kernels = createTypescriptKernels();
  readonly state = new CatalogState('default', { kernels: this.kernels, derived: true });
  readonly entries: Entry[] = [];

  tell(entry: Entry): FoldResult {
    this.entries.push(entry);
    return fold(this.state, { position: this.entries.length, entry });
  }

  /** Adds a source and returns its generation. */
  source(name: string, more: Partial<SourceDefinition> = {}): number {
    const definition = {
      kind: 'file',
      url: 'https://a.example',
      onChange: 'serve',
      refreshSeconds: 60,
      ...more,
    };
    const change = { action: 'put', definition: definition as SourceDefinition } as const;
    this.tell({ kind: 'source', key: `source/${this.entries.length}`, at: START, name, change });
    return this.state.sources.get(name)!.generation;
  }

  rewards(entry: ObservationEntry): readonly RewardOutcome[] {
    const outcome = this.tell(entry);
    if (outcome.kind !== 'observation') throw new Error(`expected an observation, got ${outcome.kind}`);
    return outcome.rewards;
  }

  /** An embedder and the tools `t0`, `t1`, … with axis-aligned vectors. */
  static withTools(count: number): Story {
    const story = new Story();
    story.tell({
      kind: 'embedder',
      key: 'embedder/1',
      at: START,
      model: 'letters',
      fingerprint: 'e1',
      dimensions: DIMENSIONS,
      vectors: [],
    });
    story.tell(putTools(Array.from({ length: count }, (_, index) => tool(`t${index}`))));
    return story;
  }
}

/** P and N of one tool in the only case there is. */
export function remembered(story: Story, name: string): { positives: number; negatives: number } | undefined {
  const { policy } = story.state.learners.get('sc-linucb-memory@2')!;
  const { slot } = story.state.tools.find(name)!;
  const query = decision('a', ['t0']);
  const [nearest] = policy.recall({ embedding: query.embedding, terms: query.terms }).cases;
  const found = policy.caseCounts(nearest.caseId).find((count) => count.slot === slot);
  return found && { positives: found.positives, negatives: found.negatives };
}

export function emptyState(): CatalogState {
  return new CatalogState('default', { kernels: createTypescriptKernels(), derived: true });
}

export function tool(name: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return { name, description: `does ${name}`, inputSchema: { type: 'object' }, ...more };
}

let keys = 0;

/** What a sync says that found nothing to leave out. */
export const SYNCED = { startedAt: START, leftOut: [], leftOutCount: 0 };

export function putTools(tools: readonly ToolDefinition[], more: Partial<ToolsEntry> = {}): ToolsEntry {
  return {
    kind: 'tools',
    source: 'api',
    key: `tools/${keys++}`,
    at: START,
    put: tools.map((definition) => ({
      tool: definition,
      hash: JSON.stringify(definition),
      embedding: axis(definition.name),
    })),
    remove: [],
    fingerprint: 'e1',
    ...more,
  };
}

export function instruction(id: string, more: Partial<InstructionDraft> = {}): InstructionDraft {
  return { id, text: `always ${id}`, kind: 'policy', priority: 50, ...more };
}

export function putInstructions(
  instructions: readonly InstructionDraft[],
  more: Partial<InstructionsEntry> = {},
): InstructionsEntry {
  return {
    kind: 'instructions',
    key: `instructions/${keys++}`,
    at: START,
    put: instructions.map(({ status, ...content }) => ({
      instruction: { ...content, ...(status !== undefined && { status }) },
      hash: JSON.stringify(content),
      embedding: axis(content.id),
    })),
    remove: [],
    fingerprint: 'e1',
    ...more,
  };
}

/** A unit vector that follows from the name. */
export function axis(name: string): Float32Array {
  const vector = new Float32Array(DIMENSIONS);
  vector[(name.charCodeAt(name.length - 1) ?? 0) % DIMENSIONS] = 1;
  return vector;
}

/** Columns of an observed decision, all alike. */
export function columnsOf(values: Float32Array): ObservedDecision['columns'] {
  return { similarity: values, lexical: values, dense: values, retrieval: values };
}

export function decision(
  id: string,
  tools: readonly string[],
  more: Partial<ObservedDecision> = {},
): ObservedDecision {
  const shown = more.shown ?? tools.length;
  return {
    id: `default.${id}`,
    at: START,
    deadline: START + 10 * MINUTE,
    fingerprint: 'e1',
    embedding: axis(id),
    terms: { terms: Uint32Array.of(id.charCodeAt(0)), weights: Float32Array.of(1) },
    tools,
    shown,
    columns: columnsOf(new Float32Array(tools.length).fill(0.5)),
    features: { 'sc-linucb-memory@2': new Float32Array(tools.length * 8).fill(0.25) },
    unit: 0,
    learn: true,
    ...more,
  };
}

export function report(
  rewardId: string,
  tool: string | null,
  more: Partial<OutcomeReport> = {},
): OutcomeReport {
  return { rewardId, tool, outcome: 'success', value: 1, weight: 1, at: START + 1000, ...more };
}

export function observe(
  observed: ObservedDecision,
  reports: readonly OutcomeReport[],
  more: Partial<ObservationEntry> = {},
): ObservationEntry {
  return {
    kind: 'observation',
    key: `observation/${keys++}`,
    at: Math.max(...reports.map(({ at }) => at)),
    decision: observed,
    reports,
    closes: true,
    ...more,
  };
}
