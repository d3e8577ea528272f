import type { Outcome } from '../ledger/entry.ts';
import { isFields } from './sessions.ts';
import { type PastTurn, type TranscriptEvent, TurnCollector } from './turns.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Span {
  readonly trace: string;
  readonly id: string;
  readonly start: bigint;
  readonly attributes: Fields;
  readonly events: readonly Fields[];
  readonly failed: boolean;
}

/** Returns whether a line has spans of OpenTelemetry: an export of OTLP as JSON, or a span alone. */
export function hasSpans(line: Fields): boolean {
  return Array.isArray(line.resourceSpans) || (isFields(line.attributes) && spanId(line) !== undefined);
}

/**
 * Spans of the semantic conventions for generative AI, which come in any order: a chat or an agent says what was asked for
 * (`gen_ai.input.messages`, or events `gen_ai.user.message`, where its program records contents), `execute_tool` which tool was called.
 */
export class SpanCollector {
  readonly #spans: Span[] = [];

  add(line: Fields): void {
    for (const span of spansIn(line)) if (isOfInterest(span)) this.#spans.push(span);
  }

  turns(): PastTurn[] {
    const byTrace = new Map<string, Span[]>();
    for (const span of this.#spans) {
      const spans = byTrace.get(span.trace) ?? [];
      spans.push(span);
      byTrace.set(span.trace, spans);
    }
    return [...byTrace].flatMap(([trace, spans]) => {
      const collector = new TurnCollector('otel');
      collector.add({ kind: 'session', id: trace });
      let asked = '';
      for (const span of spans.sort((a, b) => Number(a.start - b.start))) {
        const messages = messagesOf(span);
        const users = JSON.stringify(messages.filter(({ kind }) => kind === 'user'));
        // Each step of an agent has the whole conversation again.
        if (messages.length > 0 && users !== asked) {
          asked = users;
          const last = messages.findLastIndex(({ kind }) => kind === 'user');
          for (const message of messages.slice(0, last + 1)) collector.add(message);
        }
        for (const event of callOf(span)) collector.add(event);
      }
      return collector.turns();
    });
  }
}

function isOfInterest({ attributes, events }: Span): boolean {
  return (
    attributes['gen_ai.tool.name'] !== undefined ||
    attributes['gen_ai.input.messages'] !== undefined ||
    events.some(({ name }) => name === 'gen_ai.user.message')
  );
}

function callOf({ id, attributes, failed }: Span): TranscriptEvent[] {
  const tool = attributes['gen_ai.tool.name'];
  const operation = attributes['gen_ai.operation.name'];
  if (typeof tool !== 'string' || (operation !== undefined && operation !== 'execute_tool')) return [];
  const error = String(attributes['error.type'] ?? '');
  const outcome: Outcome =
    !failed && error === '' ? 'success' : /time_?-?out|deadline/i.test(error) ? 'timeout' : 'failure';
  return [
    { kind: 'call', thread: 'main', id, tool },
    { kind: 'result', id, outcome, sure: true },
  ];
}

/** Returns what user and assistant said before the span. */
function messagesOf({ attributes, events }: Span): TranscriptEvent[] {
  const input = attributes['gen_ai.input.messages'];
  const messages = typeof input === 'string' ? jsonOf(input) : input;
  const said = Array.isArray(messages) ? messages.filter(isFields) : [];
  const old = events
    .filter(({ name }) => name === 'gen_ai.user.message' || name === 'gen_ai.assistant.message')
    .map(({ name, attributes: own }) => ({
      role: name === 'gen_ai.user.message' ? 'user' : 'assistant',
      content: attributesOf(own).content,
    }));
  return [...said, ...old].flatMap(({ role, parts, content }: Fields): TranscriptEvent[] => {
    const text = (Array.isArray(parts) ? parts : [content])
      .map((part) => (isFields(part) ? (part.content ?? part.text) : part))
      .filter((one) => typeof one === 'string')
      .join('\n');
    const isSaid = text.trim() !== '' && (role === 'user' || role === 'assistant');
    return isSaid ? [{ kind: role, thread: 'main', text }] : [];
  });
}

function spansIn(line: Fields): Span[] {
  if (!Array.isArray(line.resourceSpans)) return [spanOf(line)];
  const inside = (holder: unknown, member: string): Fields[] => {
    const list = isFields(holder) ? holder[member] : undefined;
    return Array.isArray(list) ? list.filter(isFields) : [];
  };
  const scopes = line.resourceSpans.flatMap((resource) => inside(resource, 'scopeSpans'));
  return scopes.flatMap((scope) => inside(scope, 'spans')).map(spanOf);
}

function spanOf(span: Fields): Span {
  const { status, context } = span;
  const { code } = isFields(status) ? (status as Fields) : {};
  const within = isFields(context) ? context : {};
  return {
    trace: String(span.traceId ?? span.trace_id ?? within.trace_id ?? ''),
    id: String(spanId(span)),
    start: nanoseconds(span.startTimeUnixNano ?? span.start_time ?? span.timestamp),
    attributes: attributesOf(span.attributes),
    events: Array.isArray(span.events) ? span.events.filter(isFields) : [],
    failed: code === 2 || /ERROR$/.test(String(code ?? (isFields(status) ? status.status_code : ''))),
  };
}

function spanId(span: Fields): unknown {
  return (
    span.spanId ??
    span.span_id ??
    (isFields(span.context) ? span.context.span_id : undefined) ??
    (span.traceId === undefined ? undefined : span.id)
  );
}

/** Of OTLP (`[{key, value: {stringValue}}]`) or as an object. */
function attributesOf(attributes: unknown): Fields {
  if (isFields(attributes)) return attributes;
  if (!Array.isArray(attributes)) return {};
  const entries = attributes.filter(isFields).map(({ key, value }) => {
    const own = isFields(value) ? Object.values(value)[0] : value;
    return [String(key), own] as const;
  });
  return Object.fromEntries(entries);
}

function nanoseconds(time: unknown): bigint {
  const text = String(time ?? '0');
  if (/^\d{1,20}$/.test(text)) return BigInt(text);
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? 0n : BigInt(ms) * 1_000_000n;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
