import type { InstructionKind } from '../ledger/instruction-definition.ts';
import { guessKind } from './guess-kind.ts';
import {
  type Block,
  blocksOf,
  endWhere,
  isSection,
  type Leaf,
  type Section,
  sectionsOf,
} from './prompt-sections.ts';

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

/** What becomes a unit. */
interface Draft extends Pick<PromptUnit, 'path' | 'topics' | 'kind'> {
  readonly leaves: readonly Leaf[];
  /** Whether it may be joined with its neighbours in the section that is being divided. */
  readonly isOpen: boolean;
}

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
