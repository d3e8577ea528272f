import { afterEach } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import type { Rerankers } from '../../src/catalog/rerankers.ts';
import { FileDecisionLogs } from '../../src/decisions/file-decision-logs.ts';
import type { ExposureRecorder } from '../../src/experiments/exposure-recorder.ts';
import type { SettingsPatch } from '../../src/ledger/catalog-settings.ts';
import type { Reranker } from '../../src/models/reranker.ts';
import type { Splitters } from '../../src/queries/llm-splitter.ts';
import { InstructionIndex, ToolIndex } from '../../src/retrieval/tool-index.ts';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import { type RouteOptions, type RoutingParts, routeQuery } from '../../src/routing/route-query.ts';
import type { RouteRequest } from '../../src/routing/route-request.ts';
import { Routing } from '../../src/routing/routing.ts';
import { TokenCosts } from '../../src/routing/token-costs.ts';
import { UnderstoodQueries } from '../../src/routing/understood-queries.ts';
import type { CatalogState } from '../../src/state/catalog-state.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { temporaryFolder } from '../e2e/running-service.ts';
import { axis, START, Story } from '../state/entries.ts';

const disposals: (() => unknown)[] = [];
afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

const REQUEST: RouteRequest = {
  query: 'does t1',
  catalog: 'default',
  k: 2,
  explore: false,
  learn: true,
  activate: 'now',
  format: 'names',
};

/** Asked for with `decomposition: "clauses"`: parts stand between ampersands. */
const SPLITTERS = {
  clauses: { split: async (query: string) => ({ parts: query.split(' & '), by: 'clauses', fallback: null }) },
} as unknown as Splitters;

/** A catalog with the tools t0, t1, … that is routed in; its models are functions, and time stands still. */
export class RoutedCatalog {
  readonly story: Story;
  readonly index = new ToolIndex(createTypescriptKernels());
  readonly instructionIndex = new InstructionIndex(createTypescriptKernels());
  readonly decisionLogs: FileDecisionLogs;
  readonly routing: Routing;
  readonly request = REQUEST;
  /** What was counted for experiments, and ranked for shadows. */
  readonly counted = { exposed: 0, ranked: 0, leftOut: 0 };
  /** Texts that the embedder was given. */
  readonly embedded: string[] = [];
  /** Called when the embedder is asked, before it answers. */
  onEmbed: () => unknown = () => undefined;
  /** What it answers for a text. */
  embeddingOf: (text: string) => Float32Array = axis;
  embedderDown = false;
  /** Tools whose servers are down. */
  unavailable: string[] = [];
  rerank: Reranker['rerank'] = async () => ({ missing: 'there is none' });
  state: CatalogState;
  readonly parts: RoutingParts;
  readonly catalog: Catalog;

  constructor(tools = 3, patch: SettingsPatch = {}) {
    this.story = Story.withTools(tools);
    this.state = this.story.state;
    this.story.tell({
      kind: 'settings',
      key: 's',
      at: START,
      patch: { decomposition: 'none', ...patch },
    });
    this.state.tools.follow(this.index);
    this.state.instructions.follow(this.instructionIndex);
    const folder = temporaryFolder();
    disposals.push(() => folder.remove());
    disposals.push(() => this.index.free());
    disposals.push(() => this.instructionIndex.free());
    this.decisionLogs = new FileDecisionLogs(folder.path, { retainMs: 3_600_000, now: () => START });
    disposals.push(() => this.decisionLogs.close());
    this.catalog = this.#open();
    this.parts = this.#partsOf();
    const catalogs = {
      serves: () => true,
      getIfAny: () => this.catalog,
      get: () => this.catalog,
      holding: (_: string, work: (one: Catalog) => unknown) => work(this.catalog),
    } as unknown as Catalogs;
    const settlements = { assertRoom: () => {}, settle: async () => {}, close: async () => {} };
    this.routing = new Routing(catalogs, this.parts, settlements, () => {});
  }

  /** What an agent gets for a request. */
  async route(more: Partial<RouteRequest> = {}, options: RouteOptions = {}): Promise<RouteAnswer> {
    return (await routeQuery({ ...REQUEST, ...more }, this.catalog, this.parts, options)).answer;
  }

  /** The same, by way of the noun. */
  ask(more: Partial<RouteRequest> = {}, options: RouteOptions = {}): Promise<RouteAnswer> {
    return this.routing.route({ ...REQUEST, ...more }, options);
  }

  #open(): Catalog {
    const embedder = {
      fingerprint: 'e1',
      embedQueries: async (texts: string[]) => {
        this.embedded.push(...texts);
        await this.onEmbed();
        return texts.map((text) => this.embeddingOf(text));
      },
    };
    const self = this;
    return {
      name: 'default',
      get state() {
        return self.state;
      },
      get embedderDown() {
        return self.embedderDown;
      },
      get embedder() {
        return self.embedderDown ? null : embedder;
      },
      index: this.index,
      instructionIndex: this.instructionIndex,
    } as unknown as Catalog;
  }

  #partsOf(): RoutingParts {
    const { counted } = this;
    const rerank: Reranker['rerank'] = (...question) => this.rerank(...question);
    const rerankers = { ready: () => ({ rerank }) } as unknown as Rerankers;
    return {
      now: () => START,
      unavailable: () => this.unavailable,
      decisionLogs: this.decisionLogs,
      queries: new UnderstoodQueries({ splitters: SPLITTERS, rerankers }),
      exposures: {
        leaveOut: (_: Catalog, { withoutUnit, ownDetail }: Parameters<ExposureRecorder['leaveOut']>[1]) => {
          counted.leftOut += withoutUnit.length + ownDetail.length;
        },
        decide: () => undefined,
        expose: () => counted.exposed++,
      },
      shadows: { rank: () => counted.ranked++ },
      // Nothing is kept of any user.
      contexts: { read: async () => null },
      // A token per character, so that costs can be read off.
      costs: new TokenCosts({ name: 'characters', count: ({ length }) => length }),
    } as unknown as RoutingParts;
  }
}
