type BlockKind = 'heading' | 'tag' | 'end' | 'fence' | 'table' | 'item' | 'paragraph';

/** Lines that must not be torn apart, without the blank lines around them. */
export interface Block {
  readonly kind: BlockKind;
  readonly text: string;
  /** What stands between it and the block before: a blank line, a line break, or a space between sentences. */
  readonly gap: '\n\n' | '\n' | ' ';
  /** Of headings, 1…6. */
  readonly level: number;
}

export interface Section {
  readonly level: number;
  /** Null above the first heading. */
  readonly heading: Block | null;
  /** What ends it, if it is a tag that is closed. */
  readonly closing: Block | null;
  readonly path: readonly string[];
  /** What stands in it, in its order. */
  readonly parts: (Leaf | Section)[];
}

/** A block in its place. */
export interface Leaf {
  /** Null for a heading with nothing below it, which may be a rule itself. */
  readonly block: Block | null;
  /** The sections that it is in, outermost first, without the whole. */
  readonly under: readonly Section[];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const TITLE = /^.{1,80}(?<![.!?:;,]\s*)$/;
const TAG = /^<\/?[A-Za-z][\w.-]*(?:\s[^<>]*)?>$/;
const BULLET = /^(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** Reads a prompt as blocks. Lists come item by item. */
export function blocksOf(prompt: string): readonly Block[] {
  const lines = prompt
    .replace(/^\uFEFF/, '')
    .replace(/\r\n?/g, '\n')
    .split('\n');
  const blocks: Block[] = [];
  let after = 0;
  for (let at = 0; at < lines.length; ) {
    if (lines[at].trim() === '') {
      at++;
      continue;
    }
    const { kind, end, level = 0 } = blockAt(lines, at);
    const text = lines.slice(at, end).join('\n').trimEnd();
    blocks.push({ kind, text, level, gap: at === after ? '\n' : '\n\n' });
    at = end;
    after = end;
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
    return { kind: line.startsWith('</') ? 'end' : 'tag', end: at + 1 };
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

/** Puts blocks into the sections of their headings and tags. What a tag encloses is in its section, headings as well. */
export function sectionsOf(blocks: readonly Block[]): Section {
  const closings = closingsOf(blocks);
  const root: Section = { level: 0, heading: null, closing: null, path: [], parts: [] };
  let open: Section[] = [root];
  const add = (block: Block | null): void => {
    open.at(-1)!.parts.push({ block, under: open.slice(1) });
  };
  const closeFrom = (at: number): void => {
    // A section that ends with nothing in it.
    if (at < open.length && open.at(-1)!.parts.length === 0) add(null);
    open = open.slice(0, at);
  };
  for (const block of blocks) {
    const closed = block.kind === 'end' ? open.findIndex(({ closing }) => closing === block) : -1;
    if (closed >= 0) {
      closeFrom(closed);
      continue;
    }
    if (block.kind !== 'heading' && block.kind !== 'tag') {
      add(block);
      continue;
    }
    const parent = open.findLastIndex(
      ({ level, closing }) => block.kind === 'tag' || closing || level < block.level,
    );
    // A heading that has headings below it has no leaf of its own.
    closeFrom(parent + 1);
    const above = open.at(-1)!;
    const section: Section = {
      level: block.kind === 'tag' ? above.level + 1 : block.level,
      ...{ heading: block, closing: closings.get(block) ?? null },
      ...{ path: [...above.path, titleOf(block.text)], parts: [] },
    };
    above.parts.push(section);
    open.push(section);
  }
  closeFrom(1);
  return root;
}

/** What closes each tag; a tag that closes none is text. */
function closingsOf(blocks: readonly Block[]): ReadonlyMap<Block, Block> {
  const closings = new Map<Block, Block>();
  const open: Block[] = [];
  for (const block of blocks) {
    if (block.kind === 'tag') open.push(block);
    if (block.kind !== 'end') continue;
    const at = open.findLastIndex((tag) => titleOf(tag.text) === titleOf(block.text));
    if (at < 0) continue;
    closings.set(open[at], block);
    open.length = at;
  }
  return closings;
}

export function isSection(part: Leaf | Section): part is Section {
  return 'parts' in part;
}

function titleOf(heading: string): string {
  const [first] = heading.split('\n');
  const [, , title = first] = HEADING.exec(first) ?? [];
  return title
    .trim()
    .replace(/^<\/?([\w.-]+).*>$/, (_, name: string) => name.replace(/[_.-]+/g, ' '))
    .replace(/[*_`]/g, '');
}

/** Position of the first from `at` on of which this is so; one after the last if there is none. */
export function endWhere<T>(list: readonly T[], at: number, isEnd: (one: T, i: number) => boolean): number {
  let end = at;
  while (end < list.length && !isEnd(list[end], end)) end++;
  return end;
}
