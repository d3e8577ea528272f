import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { parse } from 'yaml';
import { MAX_SKILL_TEXT, type ToolDefinition } from '../ledger/tool-definition.ts';
import { type Fields, isFields, type Refused } from './formats/tool-fields.ts';
import { UnreadableError } from './formats/unreadable-error.ts';
import { MAX_TOOLS, type Offer } from './plan-sync.ts';

const SKILL_FILE = 'SKILL.md';
/** Folders in folders that are looked into. */
const MAX_DEPTH = 4;
/** A skill is a page or two. */
const MAX_BYTES = 1024 * 1024;
const MAX_FOLDERS = 50_000;
/** Of the texts of all skills: they are kept with their tools, in memory and in snapshots. */
const MAX_CHARACTERS = 64 * 1024 * 1024;

/**
 * Reads a folder of skills: every `SKILL.md` in it, or in a folder of it, is a tool of kind `skill`. Name and description stand
 * in the head of the file, between two lines of `---`; `text` is what follows it, cut where it is too long for a tool; `metadata.path`
 * says where in the folder it is. Links are not followed.
 * @throws UnreadableError
 */
export async function readSkills(folder: string, signal: AbortSignal): Promise<Offer> {
  const tools = new Map<string, ToolDefinition>();
  const leftOut: Refused[] = [];
  let characters = 0;
  for (const file of await skillFiles(folder, signal)) {
    signal.throwIfAborted();
    const path = relative(folder, file).split(sep).join('/');
    const skill = await readSkill(file, path);
    if (typeof skill === 'string') leftOut.push({ name: path, why: skill });
    else if (tools.has(skill.name))
      leftOut.push({ name: path, why: `another skill is called "${skill.name}"` });
    else tools.set(skill.name, skill);
    characters += typeof skill === 'string' ? 0 : (skill.text?.length ?? 0);
    if (characters > MAX_CHARACTERS)
      throw new UnreadableError('Its skills are longer than 64 MB together: divide it into several folders.');
  }
  if (tools.size + leftOut.length === 0) {
    throw new UnreadableError(`There is no ${SKILL_FILE} in this folder, or in a folder of it.`);
  }
  return { tools: [...tools.values()], leftOut };
}

/** By path. */
async function skillFiles(root: string, signal: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  let folders = [root];
  let seen = 0;
  for (let depth = 0; depth <= MAX_DEPTH && folders.length > 0; depth++) {
    const next: string[] = [];
    for (const folder of folders) {
      signal.throwIfAborted();
      if (++seen > MAX_FOLDERS)
        throw new UnreadableError(`There are more than ${MAX_FOLDERS} folders in it.`);
      for (const entry of await readdir(folder, { withFileTypes: true })) {
        if (entry.isDirectory()) next.push(join(folder, entry.name));
        else if (entry.isFile() && entry.name === SKILL_FILE) found.push(join(folder, entry.name));
      }
      if (found.length > MAX_TOOLS)
        throw new UnreadableError(`There are more than ${MAX_TOOLS} skills in it.`);
    }
    folders = next;
  }
  return found.sort();
}

/** Returns the skill, or why it is none. */
async function readSkill(file: string, path: string): Promise<ToolDefinition | string> {
  if ((await stat(file)).size > MAX_BYTES) return 'it is longer than 1 MB';
  const parts = partsOf(await readFile(file, 'utf8'));
  if (parts === null)
    return 'it does not begin with a head of `name` and `description` between two lines of ---';
  const { name, description } = parts.head;
  if (typeof name !== 'string' || name.trim() === '') return 'its head has no `name`';
  if (typeof description !== 'string' || description.trim() === '') return 'its head has no `description`';
  return {
    kind: 'skill',
    name: name.trim(),
    description: description.trim(),
    inputSchema: { type: 'object', properties: {} },
    text: boundedText(parts.body, path),
    metadata: { path },
  };
}

/** Cuts a text that is too long for a tool, and says so at its end. Control characters, which no tool may have, are left out. */
function boundedText(body: string, path: string): string {
  const text = body.replace(/(?![\t\n])\p{Cc}/gu, '').trim();
  if (text.length <= MAX_SKILL_TEXT) return text;
  const end = `\n\n[It goes on in ${path}.]`;
  return text.slice(0, MAX_SKILL_TEXT - end.length).replace(/[\uD800-\uDBFF]$/, '') + end;
}

/** Returns what stands in the head of a skill, and what follows it; null: it has no head. */
function partsOf(text: string): { readonly head: Fields; readonly body: string } | null {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const end = lines.indexOf('---', 1);
  if (lines[0] !== '---' || end === -1) return null;
  try {
    const head: unknown = parse(lines.slice(1, end).join('\n'), { maxAliasCount: 0 });
    return isFields(head) ? { head, body: lines.slice(end + 1).join('\n') } : null;
  } catch {
    return null;
  }
}
