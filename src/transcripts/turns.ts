import { createHash } from 'node:crypto';
import type { Outcome } from '../ledger/entry.ts';
import { conversationQuery } from '../queries/conversation.ts';
import { withoutSecrets } from './without-secrets.ts';

/** What somebody asked for, and the tools that an agent called for it. */
export interface PastTurn {
  /** The same for the same turn, wherever its file lies. */
  readonly id: string;
  readonly query: string;
  readonly calls: readonly TurnCall[];
}

export interface TurnCall {
  readonly tool: string;
  readonly outcome: Outcome;
}

/** What a line of a transcript says. `thread` keeps an agent apart from those that it started. */
export type TranscriptEvent =
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'user'; readonly thread: string; readonly text: string; readonly id?: string }
  | { readonly kind: 'assistant'; readonly thread: string; readonly text: string }
  | { readonly kind: 'call'; readonly thread: string; readonly id: string; readonly tool: string }
  /** `sure`: it overrules what was guessed from the text of an output. */
  | { readonly kind: 'result'; readonly id: string; readonly outcome: Outcome; readonly sure: boolean };

/** Messages that a turn may refer to. */
const KEPT_MESSAGES = 12;
/** Characters of a query; what comes after is pasted. */
const LONGEST_QUERY = 8_000;
/** Calls of one turn that are kept. */
export const MOST_CALLS = 200;
/** Tools of the router itself: they find tools, and are not looked for. */
const OWN_TOOLS = /(?:^|__)(?:find_tools|describe_tool|report_outcome)$/;

interface OpenTurn {
  readonly id: string;
  readonly query: string;
  readonly calls: PendingCall[];
}

interface PendingCall {
  readonly tool: string;
  outcome: Outcome | null;
  sure: boolean;
}

/** Puts the events of one transcript together to turns, in the order of its lines. A call without a result is left out. */
export class TurnCollector {
  readonly #dialect: string;
  #session = '';
  #count = 0;
  readonly #messages = new Map<string, { role: string; content: string }[]>();
  readonly #open = new Map<string, OpenTurn>();
  readonly #pending = new Map<string, PendingCall>();
  readonly #turns: OpenTurn[] = [];

  constructor(dialect: string) {
    this.#dialect = dialect;
  }

  add(event: TranscriptEvent): void {
    switch (event.kind) {
      case 'session':
        this.#session = event.id;
        break;
      case 'user':
        this.#say(event.thread, 'user', event.text);
        this.#begin(event.thread, event.id);
        break;
      case 'assistant':
        this.#say(event.thread, 'assistant', event.text);
        break;
      case 'call': {
        const turn = this.#open.get(event.thread);
        if (turn === undefined || OWN_TOOLS.test(event.tool) || turn.calls.length >= MOST_CALLS) break;
        const call: PendingCall = { tool: event.tool, outcome: null, sure: false };
        turn.calls.push(call);
        this.#pending.set(event.id, call);
        break;
      }
      case 'result': {
        const call = this.#pending.get(event.id);
        if (call === undefined || (call.outcome !== null && (call.sure || !event.sure))) break;
        call.outcome = event.outcome;
        call.sure = event.sure;
      }
    }
  }

  /** Returns the turns in which a tool was called and answered. */
  turns(): PastTurn[] {
    return this.#turns.flatMap(({ id, query, calls }) => {
      const answered = calls.flatMap(({ tool, outcome }) => (outcome === null ? [] : [{ tool, outcome }]));
      return answered.length === 0 ? [] : [{ id, query, calls: answered }];
    });
  }

  #say(thread: string, role: string, content: string): void {
    const messages = this.#messages.get(thread) ?? [];
    messages.push({ role, content });
    this.#messages.set(thread, messages.slice(-KEPT_MESSAGES));
  }

  #begin(thread: string, id: string | undefined): void {
    const asked = conversationQuery(this.#messages.get(thread) ?? [])?.searched ?? '';
    const query = withoutSecrets(asked).slice(0, LONGEST_QUERY).trim();
    this.#count++;
    if (query === '') {
      this.#open.delete(thread);
      return;
    }
    const turn = {
      id: turnId(this.#dialect, id ?? `${this.#session}/${this.#count}/${query}`),
      query,
      calls: [],
    };
    this.#open.set(thread, turn);
    this.#turns.push(turn);
  }
}

/** Returns an id for the turn that is called so in its transcript: 32 hex digits, from which nothing can be read. */
export function turnId(dialect: string, name: string): string {
  return createHash('sha256').update(`${dialect}/${name}`).digest('hex').slice(0, 32);
}
