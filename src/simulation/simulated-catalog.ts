import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Decision } from '../decisions/decision.ts';
import { observedDecision } from '../decisions/observed-decision.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import { definitionHash, instructionHash } from '../ledger/definition-hash.ts';
import type { Entry, OutcomeReport } from '../ledger/entry.ts';
import type { InstructionDraft } from '../ledger/instruction-definition.ts';
import { API_SOURCE, type ToolDefinition } from '../ledger/tool-definition.ts';
import { InstructionIndex, ToolIndex } from '../retrieval/tool-index.ts';
import { completeOutcome } from '../rewards/reward-report.ts';
import { decide } from '../routing/decide.ts';
import type { QueryPart } from '../routing/understand-query.ts';
import { CatalogState } from '../state/catalog-state.ts';
import { fold } from '../state/fold.ts';
import type { FoldResult } from '../state/fold-result.ts';
import type { Call } from './agent.ts';

/** A tool with the vector of its text; null where there is no embedder. */
export interface PreparedTool {
  readonly tool: ToolDefinition;
  readonly embedding: Float32Array | null;
}

/** A query with everything that routing derives from its text alone. */
export interface PreparedQuery {
  readonly text: string;
  readonly tokens: Uint32Array;
  readonly embedding: Float32Array | null;
  /** The parts of a query that asks for several things; absent: it is not taken apart. */
  readonly parts?: readonly QueryPart[];
}

const NAME = 'simulation';
const WINDOW_SECONDS = 604_800;

/**
 * Simulates one catalog in memory, without ledger, log or clock. It decides and learns with the functions of the service:
 * `decide` for a query, `observedDecision` and the fold for outcomes. Time is the number of the step, in seconds.
 */
export class SimulatedCatalog {
  readonly name = NAME;
  readonly state: CatalogState;
  readonly index: ToolIndex;
  readonly instructionIndex: InstructionIndex;
  #entries = 0;
  #step = 0;

  /** @param dimensions of the embeddings, 0 without an embedder. */
  constructor(kernels: Kernels, dimensions: number, policy: PolicySettings) {
    this.state = new CatalogState(NAME, { kernels, derived: true });
    this.index = new ToolIndex(kernels);
    this.instructionIndex = new InstructionIndex(kernels);
    this.#fold({ kind: 'settings', patch: { policy, rewards: { windowSeconds: WINDOW_SECONDS } } });
    if (dimensions > 0) {
      const fingerprint = `${NAME}/${dimensions}`;
      this.#fold({ kind: 'embedder', model: NAME, fingerprint, dimensions, vectors: [] });
    }
    this.state.tools.follow(this.index);
    this.state.instructions.follow(this.instructionIndex);
  }

  /** Sets the step. */
  advance(step: number): void {
    this.#step = step;
  }

  put(tools: readonly PreparedTool[]): void {
    const put = tools.map(({ tool, embedding }) => ({ tool, hash: definitionHash(tool), embedding }));
    this.#fold({ kind: 'tools', source: API_SOURCE, put, remove: [], fingerprint: this.state.fingerprint });
  }

  putInstructions(
    instructions: readonly {
      readonly instruction: InstructionDraft;
      readonly embedding: Float32Array | null;
    }[],
  ): void {
    const put = instructions.map((one) => ({ ...one, hash: instructionHash(one.instruction) }));
    this.#fold({ kind: 'instructions', put, remove: [], fingerprint: this.state.fingerprint });
  }

  remove(names: readonly string[]): void {
    this.#fold({
      kind: 'tools',
      source: API_SOURCE,
      put: [],
      remove: names,
      fingerprint: this.state.fingerprint,
    });
  }

  /** @param id of the decision, by which its draws are keyed. */
  decide(
    id: string,
    { text, tokens, embedding, parts = [] }: PreparedQuery,
    k: number,
    explore: boolean,
    { unitId, task }: { readonly unitId?: string; readonly task?: string } = {},
  ): Decision {
    const features = { embedding, terms: this.index.queryTerms({ text, tokens }) };
    return decide(
      {
        id,
        at: this.#now(),
        request: { catalog: NAME, k, format: 'names', activate: 'now', explore, learn: true, unitId, task },
        text,
        query: {
          features,
          tokens,
          parts,
          split: null,
          rerank: null,
          embedderDown: false,
          fingerprint: this.state.fingerprint,
        },
      },
      this,
    );
  }

  /** Reports the outcomes of a decision together, with this weight, which closes it. */
  report(decision: Decision, calls: readonly Call[], weight = 1): void {
    if (calls.length === 0) return;
    const reports = calls.map(({ tool, success }) => ({
      rewardId: `${decision.id}/${tool}`,
      tool,
      ...completeOutcome({ outcome: success ? 'success' : 'failure' }),
      weight,
    }));
    this.observe(decision, reports);
  }

  /** Folds reports of a decision, which close it if it is not one of a task. */
  observe(decision: Decision, reports: readonly Omit<OutcomeReport, 'at'>[]): void {
    const at = this.#now();
    this.#fold({
      kind: 'observation',
      decision: observedDecision(
        decision,
        reports.map(({ tool }) => tool).filter((tool) => tool !== null),
      ),
      reports: reports.map((report) => ({ ...report, at })),
      closes: decision.task === undefined,
    });
  }

  /** Ends the task of these decisions. */
  end(decisions: readonly Decision[]): void {
    for (const decision of decisions) {
      this.#fold({
        ...{ kind: 'settlement', decision: observedDecision(decision, []) },
        ...{ defaultReward: null, ended: true },
      });
    }
  }

  free(): void {
    this.index.free();
    this.instructionIndex.free();
    this.state.free();
  }

  #now(): number {
    return this.#step * 1000;
  }

  #fold(entry: UnkeyedEntry): FoldResult {
    const position = ++this.#entries;
    const keyed = { ...entry, key: `${NAME}/${position}`, at: this.#now() } as Entry;
    return fold(this.state, { position, entry: keyed });
  }
}

type UnkeyedEntry = Entry extends infer E ? (E extends Entry ? Omit<E, 'key' | 'at'> : never) : never;
