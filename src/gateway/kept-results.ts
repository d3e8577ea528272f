import { randomBytes } from 'node:crypto';
import type { CallToolResult } from '@modelcontextprotocol/client';

export interface KeptResultsOptions {
  /** What one answer holds at most, in UTF-16 units of its texts and base64 data. */
  readonly maxShown: number;
  /** All kept results together, in the same units, and how long each is kept, ms. */
  readonly maxKept: number;
  readonly keepMs: number;
  now(): number;
  /** Tells the reader how to get at the rest. */
  describeRest(handle: string, shown: number, total: number): string;
}

type Block = CallToolResult['content'][number];

interface Kept {
  readonly blocks: readonly Block[];
  readonly size: number;
  readonly total: number;
  readonly until: number;
}

/**
 * Results that are too long for one answer. The first part is answered with a handle, the rest is read from there part by
 * part; any part may be read again while the result is kept. The oldest results go first when there are too many.
 */
export class KeptResults {
  readonly #options: KeptResultsOptions;
  readonly #kept = new Map<string, Kept>();
  #size = 0;

  constructor(options: KeptResultsOptions) {
    this.#options = options;
  }

  /** Returns the result as it is, or its first part with a handle in `_meta["bandolier/rest"]` and in words. */
  cut(result: CallToolResult): CallToolResult {
    const blocks = result.content ?? [];
    const structured = result.structuredContent === undefined ? '' : JSON.stringify(result.structuredContent);
    const total = sum(blocks) + structured.length;
    if (total <= this.#options.maxShown) return result;
    const { structuredContent, ...shown } = result;
    // Servers repeat structured content as text, as MCP asks them to; where one does not, it is kept as text.
    const isRepeated =
      structured === '' ||
      blocks.some((block) => block.type === 'text' && isSame(block.text, structuredContent));
    const all: Block[] = isRepeated ? [...blocks] : [...blocks, { type: 'text', text: structured }];
    const keepsStructured = structured !== '' && structured.length <= this.#options.maxShown / 2;
    const size = sum(all);
    if (size <= this.#options.maxShown) return { ...shown, content: all };
    const id = randomBytes(16).toString('base64url');
    this.#keep(id, { blocks: all, size, total: size, until: this.#options.now() + this.#options.keepMs });
    const part = this.#part(id, 0, 0) as CallToolResult;
    return {
      ...shown,
      ...(keepsStructured ? { structuredContent } : {}),
      content: part.content,
      _meta: { ...shown._meta, ...part._meta },
    };
  }

  /** The part that a handle stands for; null: the result is no longer kept, or never was. */
  read(handle: string): CallToolResult | null {
    const [id, block = '', offset = ''] = handle.split('.');
    return this.#part(id, Number(block), Number(offset));
  }

  #part(id: string, fromBlock: number, fromOffset: number): CallToolResult | null {
    this.#forget();
    const kept = this.#kept.get(id);
    if (kept === undefined || !Number.isSafeInteger(fromBlock) || !Number.isSafeInteger(fromOffset))
      return null;
    const content: Block[] = [];
    let room = this.#options.maxShown;
    let block = Math.max(0, fromBlock);
    let offset = Math.max(0, fromOffset);
    for (; block < kept.blocks.length; block++, offset = 0) {
      const one = kept.blocks[block];
      const size = sizeOf(one) - offset;
      if (size <= room) {
        content.push(one.type === 'text' && offset > 0 ? { ...one, text: one.text.slice(offset) } : one);
        room -= size;
        continue;
      }
      if (one.type === 'text') {
        const end = wholeCharacter(one.text, offset + room);
        if (end > offset) content.push({ ...one, text: one.text.slice(offset, end) });
        offset = end;
      } else if (content.length === 0) {
        // What cannot be cut is a part by itself, however long.
        content.push(one);
        block++;
      }
      break;
    }
    if (block >= kept.blocks.length) return { content };
    const handle = `${id}.${block}.${offset}`;
    const shown = sum(kept.blocks.slice(0, block)) + offset;
    content.push({ type: 'text', text: this.#options.describeRest(handle, shown, kept.total) });
    return { content, _meta: { 'bandolier/rest': { handle, shown, total: kept.total } } };
  }

  #keep(id: string, kept: Kept): void {
    this.#kept.set(id, kept);
    this.#size += kept.size;
    this.#forget();
  }

  #forget(): void {
    const now = this.#options.now();
    for (const [id, { size, until }] of this.#kept) {
      // The newest is kept even if it is too long by itself: it is there in memory already.
      if (until > now && (this.#size <= this.#options.maxKept || this.#kept.size === 1)) break;
      this.#kept.delete(id);
      this.#size -= size;
    }
  }
}

/** Returns why a result cannot be read, for people; null: it has the members that are read here. */
export function faultOf({ content = [] }: CallToolResult): string | null {
  if (!Array.isArray(content)) return 'the server answered no result of MCP: its `content` is no list';
  const at = content.findIndex((block: unknown) => {
    const { type, text, data } = Object(block);
    const needed = type === 'text' ? text : type === 'image' || type === 'audio' ? data : type;
    return typeof needed !== 'string';
  });
  return at < 0 ? null : `the server answered no result of MCP: \`content[${at}]\` is no block of content`;
}

function sum(blocks: readonly Block[]): number {
  return blocks.reduce((total, block) => total + sizeOf(block), 0);
}

function sizeOf(block: Block): number {
  if (block.type === 'text') return block.text.length;
  if (block.type === 'image' || block.type === 'audio') return block.data.length;
  return JSON.stringify(block).length;
}

/** Does not cut between the halves of a pair of surrogates. */
function wholeCharacter(text: string, end: number): number {
  const before = text.charCodeAt(end - 1);
  return before >= 0xd800 && before < 0xdc00 ? end - 1 : end;
}

function isSame(text: string, value: unknown): boolean {
  const compact = JSON.stringify(value);
  return text === compact || text === JSON.stringify(value, null, 2);
}
