import { Command } from 'commander';
import type { CalledTool, PastCase, TaughtCases } from '../catalog/cases.ts';
import { toolName } from '../http/wire/parameters.ts';
import { isWordless } from '../queries/conversation.ts';
import {
  DIALECTS,
  type Dialect,
  readTranscript,
  type Transcript,
  transcriptFiles,
} from '../transcripts/read-transcripts.ts';
import type { PastTurn } from '../transcripts/turns.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { counted, print, sentence, table, UserError } from './terminal.ts';

/** Of one request: what is embedded at a stretch, and fits into a body. */
const MOST_CASES = 200;
const MOST_CHARACTERS = 200_000;
/** Tools in a list for people; `--json` has all of them. */
const LISTED = 15;
const NAMES: Readonly<Record<Dialect, string>> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  opentelemetry: 'OpenTelemetry',
  ours: 'queries with calls',
};

interface LearnOptions extends AskOptions {
  readonly from: string;
  readonly unit?: string;
  readonly yes?: boolean;
}

export function learnCommand(): Command {
  return asking(new Command('learn').description('teach the memory of a catalog what transcripts say'))
    .requiredOption('--from <path>', 'a folder with JSON lines, or one file')
    .option('--unit <id>', 'whose transcripts they are; what is forgotten with this unit')
    .option('--yes', 'teach it; without this only what would be taught is said')
    .addHelpText(
      'after',
      `
Reads session files of Claude Code and Codex, OpenTelemetry's gen_ai spans, and lines of {"query", "calls": [{"tool", "outcome"}]}.
What was asked for and which tools of the catalog were called for it becomes a part of what the catalog remembers, the same turn
once. Texts are not kept, and what looks like a secret is left out before anything is sent to the service.

Examples:
  bandolier learn --from ~/.claude/projects
  bandolier learn --from ~/.codex/sessions --catalog support --yes`,
    )
    .action(learn);
}

async function learn({ from, catalog, unit, yes = false, url, json }: LearnOptions): Promise<void> {
  const files = await transcriptFiles(from).catch((error: Error) => {
    throw new UserError(sentence(`${from} cannot be read: ${error.message}`));
  });
  if (files.length === 0)
    throw new UserError(`There are no files of JSON lines (*.jsonl, *.ndjson) in ${from}.`);
  const api = new ApiClient(serviceUrl(url));
  const found = new Findings();
  const sum = new Totals();
  const seen = new Set<string>();
  const teach = async (cases: readonly PastCase[]): Promise<void> => {
    if (cases.length === 0) return;
    sum.add(await api.post<TaughtCases>(`${catalogPath(catalog)}/cases`, { cases, dryRun: !yes }));
  };
  for (const file of files) {
    const transcript = await readTranscript(file).catch(() => null);
    found.add(transcript);
    let [batch, length] = [[] as PastCase[], 0];
    for (const turn of transcript?.turns ?? []) {
      const one = caseOf(turn, unit);
      // A session that was resumed or forked begins with the turns of the other one.
      if (one === null || seen.size === seen.add(one.id).size) continue;
      const more = JSON.stringify(one).length;
      if (batch.length === MOST_CASES || length + more > MOST_CHARACTERS) {
        await teach(batch);
        [batch, length] = [[], 0];
      }
      batch.push(one);
      length += more;
    }
    await teach(batch);
  }
  const result = { catalog, dryRun: !yes, ...found.report(), ...sum.report() };
  print(
    json,
    result,
    `${found.text()}${sum.text(catalog, yes)}${yes ? '' : '\nThis was a dry run: nothing was taught. Add --yes to teach it.\n'}`,
  );
}

/** Returns a turn as the service takes it; null: nothing is left of it. */
function caseOf({ id, query, calls }: PastTurn, unitId: string | undefined): PastCase | null {
  const named = calls.filter(({ tool }) => toolName.safeParse(tool).success);
  if (named.length === 0 || isWordless(query)) return null;
  return { id, query, calls: named, ...(unitId !== undefined && { unitId }) };
}

/** What was in the files. */
class Findings {
  readonly #files = new Map<Dialect, number>();
  #unknown = 0;
  #unreadable = 0;
  #turns = 0;
  #lines = 0;
  #broken = 0;
  #tooLong = 0;

  add(transcript: Transcript | null): void {
    if (transcript === null) {
      this.#unreadable++;
      return;
    }
    const { dialect, turns, lines, broken, tooLong } = transcript;
    if (dialect === null) this.#unknown++;
    else this.#files.set(dialect, (this.#files.get(dialect) ?? 0) + 1);
    this.#turns += turns.length;
    this.#lines += lines;
    this.#broken += broken;
    this.#tooLong += tooLong;
  }

  report(): object {
    return {
      files: Object.fromEntries(this.#files),
      ...{ unknownFiles: this.#unknown, unreadableFiles: this.#unreadable },
      ...{ turns: this.#turns, lines: this.#lines, brokenLines: this.#broken, tooLongLines: this.#tooLong },
    };
  }

  text(): string {
    const kinds = DIALECTS.filter((name) => this.#files.has(name)).map(
      (name) => `${this.#files.get(name)} ${NAMES[name]}`,
    );
    const left = [
      this.#unknown > 0 && `${counted(this.#unknown, 'file')} of another kind`,
      this.#unreadable > 0 && `${counted(this.#unreadable, 'file')} unreadable`,
      this.#broken > 0 && `${counted(this.#broken, 'line')} not JSON`,
      this.#tooLong > 0 && `${counted(this.#tooLong, 'line')} too long`,
    ].filter((one) => one !== false);
    return `Files: ${kinds.join(', ') || 'none that are known'}. Turns with calls: ${this.#turns}.${left.length > 0 ? ` Left out: ${left.join(', ')}.` : ''}\n`;
  }
}

/** What the service said about all requests. */
class Totals {
  #taught = 0;
  #known = 0;
  #nothingToTeach = 0;
  readonly #tools = new Map<string, CalledTool>();
  readonly #unknownTools = new Map<string, CalledTool>();

  add({ taught, known, nothingToTeach, tools, unknownTools }: TaughtCases): void {
    this.#taught += taught;
    this.#known += known;
    this.#nothingToTeach += nothingToTeach;
    addAll(this.#tools, tools);
    addAll(this.#unknownTools, unknownTools);
  }

  report(): TaughtCases {
    const [taught, known, nothingToTeach] = [this.#taught, this.#known, this.#nothingToTeach];
    return {
      taught,
      known,
      nothingToTeach,
      tools: mostCalled(this.#tools),
      unknownTools: mostCalled(this.#unknownTools),
    };
  }

  text(catalog: string, done: boolean): string {
    const { taught, known, nothingToTeach, tools, unknownTools } = this.report();
    const rows = tools
      .slice(0, LISTED)
      .map(({ name, calls, successes }) => [name, String(calls), String(successes)]);
    const list = rows.length === 0 ? '' : `\n${table([['TOOL', 'CALLS', 'SUCCESSES'], ...rows])}`;
    const others = unknownTools.slice(0, LISTED).map(({ name, calls }) => `${name} (${calls})`);
    const more = unknownTools.length > LISTED ? ', …' : '';
    return (
      `Catalog ${catalog}: ${taught} ${done ? 'taught' : 'would be taught'}, ${known} known before, ${nothingToTeach} call none of its tools.\n${list}` +
      (others.length === 0 ? '' : `\nNot in the catalog: ${others.join(', ')}${more}.\n`)
    );
  }
}

function addAll(sums: Map<string, CalledTool>, tools: readonly CalledTool[]): void {
  for (const { name, calls, successes } of tools) {
    const known = sums.get(name);
    sums.set(name, {
      name,
      calls: calls + (known?.calls ?? 0),
      successes: successes + (known?.successes ?? 0),
    });
  }
}

function mostCalled(sums: ReadonlyMap<string, CalledTool>): CalledTool[] {
  return [...sums.values()].sort((one, other) => other.calls - one.calls);
}
