import type { InstructionKind } from '../ledger/instruction-definition.ts';
import { guessKind } from './guess-kind.ts';

/** Units are made of paragraphs until they have so many tokens, where a prompt allows it. */
const LEAST_TOKENS = 200;
const MOST_TOKENS = 600;

/** A unit of a prompt, in its order. */
export interface PromptUnit {
  /** Headings above it, outermost first. */
  readonly path: readonly string[];
  /** As it stands in the prompt, with the headings of its sections. */
  readonly text: string;
  /** What its words and headings look like. */
  readonly kind: InstructionKind;
  readonly tokens: number;
}

type BlockKind = 'heading' | 'end' | 'fence' | 'table' | 'item' | 'paragraph';

/** Lines that must not be torn apart, without the blank lines around them. */
interface Block {
  readonly kind: BlockKind;
  readonly text: string;
  /** Of headings, 1…6. */
  readonly level: number;
}

interface Section {
  readonly level: number;
  /** Null above the first heading. */
  readonly heading: Block | null;
  readonly path: readonly string[];
  readonly blocks: Block[];
  readonly sections: Section[];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const TITLE = /^.{1,80}(?<![.!?:;,]\s*)$/;
const TAG = /^<\/?[A-Za-z][\w.-]*(?:\s[^<>]*)?>$/;
const BULLET = /^(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/**
 * Splits a system prompt in Markdown, or plain text, along its headings, lists and paragraphs into units of 200 to 600 tokens.
 * A section that fits in whole is one unit; a longer one is divided, and short neighbours of one kind are put together. Code
 * fences, tables and list items are never torn apart, be they as long as they are. A unit that goes on in a section begins with
 * its heading, and one that goes on in a list with the sentence before the list: "Never do this:" must not get lost.
 */
export function splitPrompt(prompt: string, countTokens: (text: string) => number): readonly PromptUnit[] {
  const root = sectionsOf(blocksOf(prompt));
  const title = titleOfAll(root);
  const unitOf = (path: readonly string[], blocks: readonly Block[]): PromptUnit => {
    const text = textOf(blocks);
    return { path, text, kind: kindIn(path, blocks, title), tokens: countTokens(text) };
  };
  const unitsOf = (section: Section): readonly PromptUnit[] => {
    const { level, blocks, sections } = section;
    if (level === 0 && blocks.length === 0 && sections.length === 1) return unitsOf(sections[0]);
    const [kind, ...others] = kindsIn(section, title);
    if (kind === undefined) return [];
    const whole = unitOf(section.path, blocksIn(section));
    if (others.length === 0 && whole.tokens <= MOST_TOKENS) return [{ ...whole, kind }];
    const own = pieces(section, countTokens).map((blocks) => unitOf(section.path, blocks));
    return together([...own, ...section.sections.flatMap(unitsOf)], section.path, countTokens);
  };
  return unitsOf(root);
}

/** Every block of a section, its headings among them. */
function blocksIn({ heading, blocks, sections }: Section): readonly Block[] {
  return [...(heading === null ? [] : [heading]), ...blocks, ...sections.flatMap(blocksIn)];
}

/** The heading above everything, which says what the prompt is of and not what each part of it is; null: there is none. */
function titleOfAll({ sections }: Section): Section | null {
  const [first, ...others] = sections;
  return others.length === 0 ? (first ?? null) : null;
}

function kindIn(path: readonly string[], blocks: readonly Block[], title: Section | null): InstructionKind {
  const body = blocks.filter(({ kind }) => kind !== 'heading' && kind !== 'end');
  const text = textOf(body.length > 0 ? body : blocks);
  if (title === null) return guessKind(path, text, []);
  // Where there are no other headings, the title says something where the text does not.
  return guessKind(path.slice(1), text, title.sections.length > 0 ? [] : title.path);
}

function kindsIn(
  { path, heading, blocks, sections }: Section,
  title: Section | null,
): ReadonlySet<InstructionKind> {
  // A heading with nothing at all below it may be a rule itself.
  const isBare = blocks.length === 0 && (heading === null || sections.length > 0);
  const own = isBare ? [] : [kindIn(path, [...(heading ? [heading] : []), ...blocks], title)];
  return new Set([...own, ...sections.flatMap((one) => [...kindsIn(one, title)])]);
}

function textOf(blocks: readonly Block[]): string {
  return blocks
    .map(({ kind, text }, at) => {
      if (at === 0) return text;
      return `${kind === 'end' || (kind === 'item' && blocks[at - 1].kind === 'item') ? '\n' : '\n\n'}${text}`;
    })
    .join('');
}

/** Divides what stands in a section itself. */
function pieces({ heading, blocks }: Section, countTokens: (text: string) => number): readonly Block[][] {
  const done: Block[][] = [];
  const top = heading === null ? [] : [heading];
  let open: Block[] = [...top];
  let tokens = 0;
  let leadIn: Block | null = null;
  for (const [at, block] of blocks.flatMap((one) => sentences(one, countTokens)).entries()) {
    const own = countTokens(block.text);
    const before = at === 0 ? null : open.at(-1)!;
    // What ends in a colon belongs to what it announces.
    const isAnnounced = before?.text.endsWith(':') ?? false;
    const goesOn = block.kind === 'item' && leadIn !== null && before?.kind === 'item';
    if (block.kind === 'item') leadIn = before?.kind === 'item' ? leadIn : isAnnounced ? before : null;
    const isFull = tokens > 0 && (tokens + own > MOST_TOKENS || tokens >= LEAST_TOKENS);
    if (isFull && !isAnnounced && block.kind !== 'end') {
      done.push(open);
      open = [...top, ...(goesOn ? [leadIn!] : [])];
      tokens = 0;
    }
    open.push(block);
    tokens += own;
  }
  if (tokens > 0) done.push(open);
  return done;
}

/** A paragraph that is longer than a unit, sentence by sentence; everything else as it is. */
function sentences(block: Block, countTokens: (text: string) => number): readonly Block[] {
  if (block.kind !== 'paragraph' || countTokens(block.text) <= MOST_TOKENS) return [block];
  return block.text.split(/(?<=[.!?])\s+(?=[\p{Lu}\p{N}"'(*_[])/u).map((text) => ({ ...block, text }));
}

/** Puts short neighbours of one kind together, up to the size of a unit. */
function together(
  units: readonly PromptUnit[],
  path: readonly string[],
  countTokens: (text: string) => number,
): readonly PromptUnit[] {
  const made: PromptUnit[] = [];
  for (const unit of units) {
    const last = made.at(-1);
    const isShort = last !== undefined && last.tokens < LEAST_TOKENS;
    // Not pieces of the same section, which would repeat its heading.
    const isOther = last?.path.join('\n') !== unit.path.join('\n');
    const text = `${last?.text}\n\n${unit.text}`;
    const tokens = countTokens(text);
    if (!isShort || !isOther || last.kind !== unit.kind || tokens > MOST_TOKENS) {
      made.push(unit);
      continue;
    }
    const shared = last.path.length > path.length ? last.path : unit.path;
    made[made.length - 1] = { path: shared, text, kind: last.kind, tokens };
  }
  return made;
}

/** Puts blocks into the sections of their headings. */
function sectionsOf(blocks: readonly Block[]): Section {
  const root: Section = { level: 0, heading: null, path: [], blocks: [], sections: [] };
  const open: Section[] = [root];
  for (const block of blocks) {
    if (block.kind === 'end') {
      // What closes a tag ends its section; what closes none is text.
      const name = titleOf(block.text);
      const at = open.findLastIndex(({ path }) => path.at(-1) === name);
      open.at(-1)!.blocks.push(block);
      if (at > 0) open.length = at;
      continue;
    }
    if (block.kind !== 'heading') {
      open.at(-1)!.blocks.push(block);
      continue;
    }
    while (open.length > 1 && open.at(-1)!.level >= block.level) open.pop();
    const { path, sections } = open.at(-1)!;
    const section: Section = {
      ...{ level: block.level, heading: block, path: [...path, titleOf(block.text)] },
      ...{ blocks: [], sections: [] },
    };
    sections.push(section);
    open.push(section);
  }
  return root;
}

/** Reads a prompt as blocks. Lists come item by item. */
function blocksOf(prompt: string): readonly Block[] {
  const lines = prompt
    .replace(/^\uFEFF/, '')
    .replace(/\r\n?/g, '\n')
    .split('\n');
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    if (lines[at].trim() === '') {
      at++;
      continue;
    }
    const { kind, end, level = 0 } = blockAt(lines, at);
    const text = lines.slice(at, end).join('\n').trimEnd();
    blocks.push({ kind, text, level });
    at = end;
  }
  return blocks;
}

/** The block that begins in this line, which is not blank, and the line after it. */
function blockAt(lines: readonly string[], at: number): { kind: BlockKind; end: number; level?: number } {
  const line = lines[at];
  if (FENCE.test(line)) return { kind: 'fence', end: endOfFence(lines, at) };
  const heading = HEADING.exec(line);
  if (heading !== null) return { kind: 'heading', end: at + 1, level: heading[1].length };
  const underline = UNDERLINE.exec(lines[at + 1] ?? '');
  // A sentence with a line below it is no heading.
  if (underline !== null && !BULLET.test(line) && !line.includes('|') && TITLE.test(line)) {
    return { kind: 'heading', end: at + 2, level: underline[1].startsWith('=') ? 1 : 2 };
  }
  // Prompts have sections in tags: <rules> … </rules>.
  if (TAG.test(line.trimEnd())) {
    return { kind: line.startsWith('</') ? 'end' : 'heading', end: at + 1, level: 1 };
  }
  if (line.includes('|') && TABLE_RULE.test(lines[at + 1] ?? '')) {
    return { kind: 'table', end: endWhere(lines, at + 2, (one) => one.trim() === '') };
  }
  if (BULLET.test(line)) return { kind: 'item', end: endOfItem(lines, at) };
  return { kind: 'paragraph', end: endOfParagraph(lines, at) };
}

function endOfFence(lines: readonly string[], at: number): number {
  const [, mark] = FENCE.exec(lines[at])!;
  const closing = new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},}[ \\t]*$`);
  const end = endWhere(lines, at + 1, (line) => closing.test(line));
  return Math.min(end + 1, lines.length);
}

/** An item goes on with what is indented below it, also after a blank line, and with fences in it. */
function endOfItem(lines: readonly string[], at: number): number {
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end];
    if (line.trim() === '') {
      const next = endWhere(lines, end, (one) => one.trim() !== '');
      if (next === lines.length || !/^(?: {2,}|\t)/.test(lines[next])) break;
      end = next;
    } else if (/^\s/.test(line)) {
      const inner = /^\s*(`{3,}|~{3,})/.exec(line);
      const isClosing = (one: string): boolean => one.trimStart().startsWith(inner![1]);
      end = inner === null ? end + 1 : Math.min(endWhere(lines, end + 1, isClosing) + 1, lines.length);
    } else if ([BULLET, HEADING, FENCE, TAG].some((mark) => mark.test(line))) break;
    else end++;
  }
  return end;
}

function endOfParagraph(lines: readonly string[], at: number): number {
  return endWhere(lines, at + 1, (line, i) => {
    const isTable = line.includes('|') && TABLE_RULE.test(lines[i + 1] ?? '');
    return line.trim() === '' || isTable || [FENCE, HEADING, BULLET, TAG].some((mark) => mark.test(line));
  });
}

/** The first line from `at` on of which this is so; one after the last if there is none. */
function endWhere(lines: readonly string[], at: number, isEnd: (line: string, i: number) => boolean): number {
  let end = at;
  while (end < lines.length && !isEnd(lines[end], end)) end++;
  return end;
}

function titleOf(heading: string): string {
  const [first] = heading.split('\n');
  const [, , title = first] = HEADING.exec(first) ?? [];
  return title
    .trim()
    .replace(/^<\/?([\w.-]+).*>$/, (_, name: string) => name.replace(/[_.-]+/g, ' '))
    .replace(/[*_`]/g, '');
}
