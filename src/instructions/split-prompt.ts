import type { InstructionKind } from '../ledger/instruction-definition.ts';
import { guessKind } from './guess-kind.ts';

/** Units are made of paragraphs until they have so many tokens, where a prompt allows it. */
const LEAST_TOKENS = 200;
const MOST_TOKENS = 600;

/** A unit of a prompt, in its order. */
export interface PromptUnit {
  /** Headings above all of it, outermost first. */
  readonly path: readonly string[];
  /** Headings below `path` of the sections that were joined to make it; none of a unit that is (of) one section. */
  readonly topics: readonly string[];
  /** As it stands in the prompt, below all headings of its sections. */
  readonly text: string;
  /** What its words and headings look like. */
  readonly kind: InstructionKind;
  readonly tokens: number;
}

type BlockKind = 'heading' | 'tag' | 'end' | 'fence' | 'table' | 'item' | 'paragraph';

/** Lines that must not be torn apart, without the blank lines around them. */
interface Block {
  readonly kind: BlockKind;
  readonly text: string;
  /** What stands between it and the block before: a blank line, a line break, or a space between sentences. */
  readonly gap: '\n\n' | '\n' | ' ';
  /** Of headings, 1…6. */
  readonly level: number;
}

interface Section {
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
interface Leaf {
  /** Null for a heading with nothing below it, which may be a rule itself. */
  readonly block: Block | null;
  /** The sections that it is in, outermost first, without the whole. */
  readonly under: readonly Section[];
}

/** What becomes a unit. */
interface Draft extends Pick<PromptUnit, 'path' | 'topics' | 'kind'> {
  readonly leaves: readonly Leaf[];
  /** Whether it may be joined with its neighbours in the section that is being divided. */
  readonly isOpen: boolean;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const TITLE = /^.{1,80}(?<![.!?:;,]\s*)$/;
const TAG = /^<\/?[A-Za-z][\w.-]*(?:\s[^<>]*)?>$/;
const BULLET = /^(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** A heading with one of these says what holds below it, and is no mere title. */
const RULE =
  /\b(?:never|not|no|don't|cannot|must|always|only|without|forbidden|avoid|nie|niemals|nicht|keine?|verboten|jamais|pas|interdit|nunca|prohibido)\b/i;

/**
 * Splits a system prompt in Markdown, or plain text, along its headings, tags, lists and paragraphs into units of 200 to 600
 * tokens. A section that fits in whole is one unit; a longer one is divided, and short neighbours of one kind below the same
 * heading are put together. Code fences, tables and list items are never torn apart, be they as long as they are. A unit begins
 * with all headings above it except the title of the prompt, and one that goes on in a list with the sentence before the list:
 * "What you must never do" must not get lost. All units together are the prompt, in its order.
 */
export function splitPrompt(prompt: string, countTokens: (text: string) => number): readonly PromptUnit[] {
  const root = sectionsOf(blocksOf(prompt).flatMap((block) => sentences(block, countTokens)));
  const [first] = leavesOf(root);
  const titles = titlesOf(root);
  const title = titleOfAll(root);
  const textOf = (leaves: readonly Leaf[]): string =>
    rendered(leaves, (section, leaf) => !titles.includes(section) || leaf === first);

  const draftsOf = (section: Section, isChapter: boolean): readonly Draft[] => {
    const { path, parts } = section;
    const [only, ...rest] = parts;
    if (section.heading === null && only !== undefined && isSection(only) && rest.length === 0) {
      return draftsOf(only, false);
    }
    const [kind, ...others] = kindsIn(section, title);
    if (kind === undefined) return [];
    const chapters = parts.filter((part) => isSection(part) && part.level === 1);
    const areChapters = section.heading === null && chapters.length > 1;
    const leaves = leavesOf(section);
    const isWhole = others.length === 0 && !areChapters && countTokens(textOf(leaves)) <= MOST_TOKENS;
    if (isWhole) return [{ path, topics: [], kind, leaves, isOpen: !isChapter }];
    const made: Draft[] = [];
    for (let at = 0; at < parts.length; ) {
      const part = parts[at];
      if (isSection(part)) {
        made.push(...draftsOf(part, areChapters && part.level === 1));
        at++;
        continue;
      }
      const end = endWhere(parts, at, isSection);
      const own = pieces(parts.slice(at, end) as Leaf[], countTokens);
      made.push(
        ...own.map((leaves) => ({
          path,
          topics: [],
          kind: kindOfOwn(section, leaves, title),
          leaves,
          isOpen: true,
        })),
      );
      at = end;
    }
    // What is left short at the end of a section is not joined with what comes after it.
    return together(made, path, (leaves) => countTokens(textOf(leaves))).map((draft) => ({
      ...draft,
      isOpen: false,
    }));
  };

  return draftsOf(root, false).map(({ leaves, isOpen: _, ...unit }) => {
    const text = textOf(leaves);
    return { ...unit, text, tokens: countTokens(text) };
  });
}

function isSection(part: Leaf | Section): part is Section {
  return 'parts' in part;
}

function leavesOf({ parts }: Section): readonly Leaf[] {
  return parts.flatMap((part) => (isSection(part) ? leavesOf(part) : [part]));
}

/** What has all of a prompt below it and only names it, so that it need not be repeated: "# Support agent", "<system_prompt>". */
function titlesOf({ parts }: Section): readonly Section[] {
  const [only, ...others] = parts;
  if (only === undefined || !isSection(only) || others.length > 0 || !only.parts.some(isSection)) return [];
  // A heading with sections alone below it says what they are about.
  const hasText = only.parts.some((part) => !isSection(part));
  const isMere = only.heading?.kind === 'tag' || hasText;
  return isMere && !RULE.test(only.path.at(-1)!) ? [only, ...titlesOf(only)] : [];
}

/** The only section of all, which says what the prompt is of and not what each part of it is; null: there is none. */
function titleOfAll(root: Section): Section | null {
  const [first, ...others] = root.parts.filter(isSection);
  return others.length === 0 ? (first ?? null) : null;
}

function kindsIn(section: Section, title: Section | null): ReadonlySet<InstructionKind> {
  const own = section.parts.filter((part): part is Leaf => !isSection(part));
  return new Set([
    ...(own.length === 0 ? [] : [kindOfOwn(section, own, title)]),
    ...section.parts.filter(isSection).flatMap((one) => [...kindsIn(one, title)]),
  ]);
}

function kindOfOwn(
  { path, heading }: Section,
  leaves: readonly Leaf[],
  title: Section | null,
): InstructionKind {
  const blocks = leaves.map(({ block }) => block).filter((block) => block !== null);
  const body = blocks.map(({ gap, text }, at) => (at === 0 ? text : gap + text)).join('');
  const text = body === '' ? (heading?.text ?? '') : body;
  if (title === null) return guessKind(path, text, []);
  // Where there are no other headings, the title says something where the text does not.
  return guessKind(path.slice(1), text, title.parts.some(isSection) ? [] : title.path);
}

/** Writes blocks below their headings, each of which stands there once; tags that are closed in the prompt are closed here. */
function rendered(leaves: readonly Leaf[], isShown: (section: Section, leaf: Leaf) => boolean): string {
  let text = '';
  let before: Block | null = null;
  let open: { readonly section: Section; readonly shown: boolean }[] = [];
  const add = (block: Block | null): void => {
    if (block === null) return;
    // Sentences of one paragraph are a paragraph again.
    const gap = block.gap === ' ' && before?.kind !== 'paragraph' ? '\n\n' : block.gap;
    text += text === '' ? block.text : gap + block.text;
    before = block;
  };
  const closeFrom = (at: number): void => {
    for (const { section, shown } of open.slice(at).reverse()) if (shown) add(section.closing);
    open = open.slice(0, at);
  };
  for (const leaf of leaves) {
    closeFrom(endWhere(open, 0, ({ section }, at) => section !== leaf.under[at]));
    for (const section of leaf.under.slice(open.length)) {
      const shown = isShown(section, leaf);
      if (shown) add(section.heading);
      open.push({ section, shown });
    }
    add(leaf.block);
  }
  closeFrom(0);
  return text;
}

/** Divides what stands in a section itself, between the sections in it. */
function pieces(
  leaves: readonly Leaf[],
  countTokens: (text: string) => number,
): readonly (readonly Leaf[])[] {
  const done: Leaf[][] = [];
  let open: Leaf[] = [];
  let tokens = 0;
  let leadIn: Leaf | null = null;
  for (const leaf of leaves) {
    const { text = '', kind } = leaf.block ?? {};
    const own = countTokens(text);
    const before = open.at(-1);
    // What ends in a colon belongs to what it announces.
    const isAnnounced = before?.block?.text.endsWith(':') ?? false;
    const isNext = kind === 'item' && before?.block?.kind === 'item';
    if (kind === 'item' && !isNext) leadIn = isAnnounced ? lastSentence(before!) : null;
    const isFull = tokens > 0 && (tokens + own > MOST_TOKENS || tokens >= LEAST_TOKENS);
    if (isFull && !isAnnounced) {
      done.push(open);
      open = isNext && leadIn !== null ? [leadIn] : [];
      tokens = 0;
    }
    open.push(leaf);
    tokens += own;
  }
  if (open.length > 0) done.push(open);
  return done;
}

/** Where a sentence ends and another one begins. */
const BETWEEN_SENTENCES = /(?<=[.!?])\s+(?=[\p{Lu}\p{N}"'(*_[])/u;

/** A paragraph that ends with what announces a list, cut to that. */
function lastSentence(leaf: Leaf): Leaf {
  const { block } = leaf;
  return block === null
    ? leaf
    : { ...leaf, block: { ...block, text: block.text.split(BETWEEN_SENTENCES).at(-1)! } };
}

/** A paragraph that is longer than a unit, sentence by sentence; everything else as it is. */
function sentences(block: Block, countTokens: (text: string) => number): readonly Block[] {
  if (block.kind !== 'paragraph' || countTokens(block.text) <= MOST_TOKENS) return [block];
  return block.text
    .split(BETWEEN_SENTENCES)
    .map((text, at) => ({ ...block, text, gap: at === 0 ? block.gap : ' ' }));
}

/** Puts short neighbours of one kind together, up to the size of a unit. @param path of the section that they are in */
function together(
  drafts: readonly Draft[],
  path: readonly string[],
  tokensOf: (leaves: readonly Leaf[]) => number,
): readonly Draft[] {
  const topicsOf = (draft: Draft): readonly string[] => [...draft.path.slice(path.length), ...draft.topics];
  const made: Draft[] = [];
  for (const draft of drafts) {
    const last = made.at(-1);
    const mayJoin = last?.isOpen && draft.isOpen && last.kind === draft.kind;
    const leaves = mayJoin ? [...last.leaves, ...draft.leaves] : [];
    if (!mayJoin || tokensOf(last.leaves) >= LEAST_TOKENS || tokensOf(leaves) > MOST_TOKENS) made.push(draft);
    else made[made.length - 1] = { ...draft, path, topics: [...topicsOf(last), ...topicsOf(draft)], leaves };
  }
  return made;
}

/** Puts blocks into the sections of their headings and tags. What a tag encloses is in its section, headings as well. */
function sectionsOf(blocks: readonly Block[]): Section {
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

/** Reads a prompt as blocks. Lists come item by item. */
function blocksOf(prompt: string): readonly Block[] {
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

/** Position of the first from `at` on of which this is so; one after the last if there is none. */
function endWhere<T>(list: readonly T[], at: number, isEnd: (one: T, i: number) => boolean): number {
  let end = at;
  while (end < list.length && !isEnd(list[end], end)) end++;
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
