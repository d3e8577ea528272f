import { toolsThatGiveOrders } from '../catalog/suspicious-tools.ts';
import { ChatFailedError, type ChatSettings } from '../models/http/chat-endpoint.ts';
import { askForJson, type JsonPrompt } from '../models/http/chat-json.ts';
import { wordsOf } from '../retrieval/tokenise.ts';
import { atOnce } from '../scheduling/slices.ts';
import { AUDIT, auditIn, DESCRIPTION, descriptionIn, PAIR, seen, verdictIn } from './chat-judge-prompts.ts';
import type { Audit, Judge, JudgedTool, JudgeSpending, Pair, PairVerdict } from './judge.ts';
import { compareTools } from './rule-judge-compare.ts';
import { guard } from './rule-judge-guards.ts';
import { kindOf, ToolProfiles } from './rule-judge-profile.ts';
import { VerdictCache } from './verdict-cache.ts';

/** What a run may cost. */
export interface ChatBudget {
  readonly requests: number;
  /** Of questions and answers. */
  readonly tokens: number;
}

export interface ChatJudgeOptions {
  readonly chat: ChatSettings;
  readonly budget?: ChatBudget;
  /** Outlives the run, so that no pair is asked about twice while its definitions stay. */
  readonly cache?: VerdictCache;
  /** Pause before the first repetition, ms. */
  readonly retryMs?: number;
}

const CHAT_BUDGET: ChatBudget = { requests: 2_000, tokens: 2_000_000 };
/** A model that reads two definitions takes longer than one that splits a query. */
const PATIENCE = 10;
const AT_ONCE = 4;
/** Failures in a row after which nothing more is asked: the endpoint is away. */
const FAILURES_BEFORE_END = 5;
/** Tools of more kinds than this are not audited in one question. */
const MOST_AUDITED = 100;

/**
 * Judges with a language model; one judge per run, which has a budget. Texts of tools are data that may hold orders to the model: a pair
 * is asked about alone, so that no tool has a say about others; tools that give orders are not decided; what the rules' guards keep
 * apart stays apart whatever the model says; and `same` counts only if the model says it in both orders.
 */
export class ChatJudge implements Judge {
  readonly name = 'chat';
  readonly #options: ChatJudgeOptions;
  readonly #cache: VerdictCache;
  readonly #profiles = new ToolProfiles();
  #requests = 0;
  #tokens = 0;
  #failures = 0;
  #lastFailure: string | null = null;

  constructor(options: ChatJudgeOptions) {
    this.#options = options;
    this.#cache = options.cache ?? new VerdictCache();
  }

  get spent(): JudgeSpending {
    return { requests: this.#requests, tokens: this.#tokens, failure: this.#ended() ?? this.#lastFailure };
  }

  async judgePairs(pairs: readonly Pair[], signal?: AbortSignal): Promise<(PairVerdict | null)[]> {
    const verdicts: (PairVerdict | null)[] = new Array(pairs.length).fill(null);
    let next = 0;
    const work = async () => {
      while (next < pairs.length) {
        const at = next++;
        signal?.throwIfAborted();
        verdicts[at] = await this.#judge(pairs[at], signal);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return verdicts;
  }

  async audit(tools: readonly JudgedTool[], signal?: AbortSignal): Promise<Audit> {
    signal?.throwIfAborted();
    const kinds = this.#kindsOf(tools);
    if (kinds.length === 1)
      return { verdict: 'MERGE_OK', reason: 'every one of them is the same definition' };
    if (kinds.length > MOST_AUDITED)
      return undecided(`${kinds.length} different definitions are too many for one audit`);
    if (givesOrders(tools)) return undecided('one of them gives orders to the model');
    const first = kinds.map(([at]) => tools[at]);
    const answer = await this.#ask(
      AUDIT,
      { tools: first.map((tool, id) => ({ id, ...seen(tool) })) },
      signal,
    );
    const audit = answer === null ? null : auditIn(answer, first.length);
    if (audit === null)
      return undecided(`the model did not decide${answer === null ? `: ${this.#lastFailure}` : ''}`);
    const said = audit.verdict === 'MERGE_BAD' ? audit.clusters : [[...first.keys()]];
    const parted = said.flatMap((cluster) => this.#withoutGuarded(cluster, first));
    const isWhole = parted.length === 1 && parted[0].length === first.length;
    const clusters = parted.map((cluster) => cluster.flatMap((kind) => kinds[kind]).sort((a, b) => a - b));
    // A kind that the model leaves alone may have copies, and those are the same.
    const placed = new Set(parted.flat());
    for (const [kind, members] of kinds.entries()) if (!placed.has(kind)) clusters.push([...members]);
    return isWhole
      ? { verdict: 'MERGE_OK', reason: audit.reason }
      : { verdict: 'MERGE_BAD', clusters: clusters.filter(({ length }) => length > 1), reason: audit.reason };
  }

  async describe(
    tools: readonly JudgedTool[],
    representative: number,
    signal?: AbortSignal,
  ): Promise<{ description: string } | null> {
    if (givesOrders(tools)) return null;
    const shown = this.#kindsOf(tools)
      .slice(0, MOST_AUDITED)
      .map(([at]) => seen(tools[at]));
    const answer = await this.#ask(DESCRIPTION, { name: tools[representative].name, tools: shown }, signal);
    const description = answer === null ? null : descriptionIn(answer);
    if (description === null || !isAbout(description, tools)) return null;
    return givesOrders([{ ...tools[representative], description }]) ? null : { description };
  }

  async #judge([a, b]: Pair, signal: AbortSignal | undefined): Promise<PairVerdict | null> {
    const [one, other] = [this.#profiles.of(a), this.#profiles.of(b)];
    if (guard(one, other) !== null || one.copyKey === other.copyKey) return compareTools(one, other);
    const known = this.#cache.get(a.hash, b.hash);
    if (known !== undefined) return known;
    if (givesOrders([a, b])) return null;
    const verdict = await this.#askAbout(a, b, signal);
    if (verdict === null) return null;
    if (verdict.relation === 'same') {
      const again = await this.#askAbout(b, a, signal);
      if (again?.relation !== 'same') return null;
      const sure = { ...verdict, confidence: Math.min(verdict.confidence, again.confidence) };
      this.#cache.set(a.hash, b.hash, sure);
      return sure;
    }
    this.#cache.set(a.hash, b.hash, verdict);
    return verdict;
  }

  async #askAbout(
    a: JudgedTool,
    b: JudgedTool,
    signal: AbortSignal | undefined,
  ): Promise<PairVerdict | null> {
    const answer = await this.#ask(PAIR, { first: seen(a), second: seen(b) }, signal);
    return answer === null ? null : verdictIn(answer);
  }

  /** Asks within the budget. Returns the JSON of the answer; null: none. */
  async #ask(
    prompt: Omit<JsonPrompt, 'user'>,
    data: unknown,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    signal?.throwIfAborted();
    const { chat, retryMs } = this.#options;
    const settings = { ...chat, timeoutMs: PATIENCE * chat.timeoutMs };
    const user = JSON.stringify(data);
    const onAttempt = () => {
      const ended = this.#ended();
      if (ended !== null) throw new BudgetSpentError(ended);
      this.#requests++;
    };
    try {
      const { value, tokens } = await askForJson(
        settings,
        { ...prompt, user },
        { signal, retryMs, onAttempt },
      );
      this.#tokens += tokens;
      this.#failures = 0;
      return value;
    } catch (error) {
      if (error instanceof BudgetSpentError) {
        this.#lastFailure = error.message;
        return null;
      }
      if (!(error instanceof ChatFailedError)) throw error;
      // What a failed question cost is not known; it was sent at least once.
      this.#tokens += Math.ceil((prompt.system.length + user.length) / 4);
      this.#failures++;
      this.#lastFailure = error.message;
      return null;
    }
  }

  #ended(): string | null {
    const { requests, tokens } = this.#options.budget ?? CHAT_BUDGET;
    if (this.#failures >= FAILURES_BEFORE_END)
      return `the chat endpoint failed ${this.#failures} times in a row`;
    if (this.#requests >= requests) return `the ${requests} requests of a run are used up`;
    if (this.#tokens >= tokens) return `the ${tokens} tokens of a run are used up`;
    return null;
  }

  /** Indices of tools that are copies of each other and that nothing keeps apart. */
  #kindsOf(tools: readonly JudgedTool[]): number[][] {
    const kinds = new Map<string, number[]>();
    for (const [at, tool] of tools.entries()) {
      const key = kindOf(this.#profiles.of(tool));
      const members = kinds.get(key);
      if (members === undefined) kinds.set(key, [at]);
      else members.push(at);
    }
    return [...kinds.values()];
  }

  /** A cluster in parts, so that no guard keeps two tools of a part apart. */
  #withoutGuarded(cluster: readonly number[], tools: readonly JudgedTool[]): number[][] {
    const parts: number[][] = [];
    for (const at of cluster) {
      const profile = this.#profiles.of(tools[at]);
      const home = parts.find((part) =>
        part.every((other) => guard(profile, this.#profiles.of(tools[other])) === null),
      );
      if (home === undefined) parts.push([at]);
      else home.push(at);
    }
    return parts;
  }
}

/** Thrown in place of asking once nothing more is asked; the message says why. */
class BudgetSpentError extends Error {}

const undecided = (reason: string): Audit => ({ verdict: 'UNDECIDED', reason });

const givesOrders = (tools: readonly JudgedTool[]) => atOnce(toolsThatGiveOrders(tools)).length > 0;

/** At least half of the words are of the members, so that nothing is said that no member says. */
function isAbout(description: string, tools: readonly JudgedTool[]): boolean {
  const known = new Set(
    tools.flatMap(({ name, description, inputSchema }) =>
      wordsOf(`${name} ${description} ${JSON.stringify(inputSchema)}`),
    ),
  );
  const words = wordsOf(description);
  return 2 * words.filter((word) => known.has(word)).length >= words.length;
}
