import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { OUTCOMES } from '../ledger/entry.ts';
import { isFields, type ReadLine, readClaudeLine, readCodexLine } from './sessions.ts';
import { hasSpans, SpanCollector } from './spans.ts';
import { MOST_CALLS, type PastTurn, type TurnCall, TurnCollector, turnId } from './turns.ts';
import { withoutSecrets } from './without-secrets.ts';

/** Whose transcript a file is; `ours`: lines of `{query, calls: [{tool, outcome}]}`. */
export const DIALECTS = ['claude-code', 'codex', 'opentelemetry', 'ours'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** What one file holds. */
export interface Transcript {
  readonly file: string;
  /** Null: nothing in it is known. */
  readonly dialect: Dialect | null;
  readonly turns: readonly PastTurn[];
  readonly lines: number;
  /** Lines that are no JSON, such as the last one of a file that is being written. */
  readonly broken: number;
  /** Lines that are longer than 8 MB, for example with images. */
  readonly tooLong: number;
}

const LONGEST_LINE = 8 * 1024 * 1024;
const MOST_FILES = 50_000;
const DEEPEST = 8;
/** Lines after which a file that says nothing known is given up. */
const PATIENCE = 200;
const SESSIONS: Partial<Record<Dialect, ReadLine>> = { 'claude-code': readClaudeLine, codex: readCodexLine };

/** Lists the JSON lines below a folder, by name, or the file itself. Links are not followed. */
export async function transcriptFiles(path: string, depth = 0): Promise<string[]> {
  if (depth === 0 && !(await stat(path)).isDirectory()) return [path];
  const files: string[] = [];
  const entries = await readdir(path, { withFileTypes: true }).catch((error: Error) => {
    if (depth === 0) throw error;
    return [];
  });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const inside = join(path, entry.name);
    if (entry.isDirectory() && depth < DEEPEST) files.push(...(await transcriptFiles(inside, depth + 1)));
    else if (entry.isFile() && /\.(?:jsonl|ndjson)$/.test(entry.name)) files.push(inside);
    if (files.length >= MOST_FILES) break;
  }
  return files.slice(0, MOST_FILES);
}

/** Reads one transcript, a line at a time. @throws Error if it cannot be read */
export async function readTranscript(file: string): Promise<Transcript> {
  let dialect: Dialect | null = null;
  const counts = { lines: 0, broken: 0, tooLong: 0 };
  const collectors: Record<'claude-code' | 'codex', TurnCollector> = {
    'claude-code': new TurnCollector('claude-code'),
    codex: new TurnCollector('codex'),
  };
  const spans = new SpanCollector();
  const own: PastTurn[] = [];
  for await (const text of linesOf(file)) {
    counts.lines++;
    if (text === null) {
      counts.tooLong++;
      continue;
    }
    if (dialect === null && counts.lines > PATIENCE) break;
    const line = parsed(text);
    if (line === undefined) counts.broken++;
    if (!isFields(line)) continue;
    const turn = ownTurn(line);
    if (turn !== null) {
      dialect ??= 'ours';
      own.push(turn);
    } else if (hasSpans(line)) {
      dialect ??= 'opentelemetry';
      spans.add(line);
    } else {
      for (const name of ['codex', 'claude-code'] as const) {
        const events = SESSIONS[name]!(line);
        if (events === null) continue;
        dialect ??= name;
        for (const event of events) collectors[name].add(event);
        break;
      }
    }
  }
  const turns = [...own, ...spans.turns(), ...collectors['claude-code'].turns(), ...collectors.codex.turns()];
  return { file, dialect, turns, ...counts };
}

/** Reads a line of our own shape; null: it is none. */
function ownTurn({ id, query, calls }: Readonly<Record<string, unknown>>): PastTurn | null {
  if (typeof query !== 'string' || query.trim() === '' || !Array.isArray(calls)) return null;
  const known = calls
    .slice(0, MOST_CALLS)
    .filter(isFields)
    .flatMap(({ tool, outcome = 'success' }): TurnCall[] => {
      const found = OUTCOMES.find((one) => one === outcome);
      return typeof tool === 'string' && tool !== '' && found !== undefined ? [{ tool, outcome: found }] : [];
    });
  if (known.length === 0) return null;
  // Ids of two files may be alike.
  const name = JSON.stringify(typeof id === 'string' ? [id, query] : [query, known]);
  return { id: turnId('ours', name), query: withoutSecrets(query), calls: known };
}

/** Yields the lines of a file that are not blank; null for one that is too long, which is never held. */
async function* linesOf(file: string): AsyncGenerator<string | null> {
  let pieces: Buffer[] = [];
  let length = 0;
  const line = (): string | null => {
    const text = length > LONGEST_LINE ? null : Buffer.concat(pieces).toString('utf8');
    pieces = [];
    length = 0;
    return text;
  };
  const keep = (piece: Buffer): void => {
    length += piece.length;
    if (length > LONGEST_LINE) pieces = [];
    else pieces.push(piece);
  };
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end));
      from = end + 1;
      const text = line();
      if (text === null || text.trim() !== '') yield text;
    }
    keep(chunk.subarray(from));
  }
  const last = line();
  if (last === null || last.trim() !== '') yield last;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}
