import { readFile, stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { threadFile } from '../../config/package-root.ts';
import type { Local, Remote } from '../ledger/source-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { ask, readText } from '../outgoing/request.ts';
import type { ReadTools } from './formats/read-tools.ts';
import { someOf } from './formats/tool-fields.ts';
import { UnreadableError } from './formats/unreadable-error.ts';
import type { Offer } from './plan-sync.ts';
import { allWithSecrets, type ReadVariable, withSecrets } from './secrets.ts';

export interface DocumentReaderParts {
  readonly readVariable: ReadVariable;
  /** Addresses of this machine and of its own network may be asked. */
  readonly allowPrivate: boolean;
}

/** What the thread answers that reads a document. */
export type DocumentAnswer = ReadTools | { readonly unreadable: string };

const MAX_BYTES = 64 * 1024 * 1024;
const SILENCE_MS = 30_000;
const REDIRECTS = 5;
/** Of the thread: what a document of a few lines stands for may be more than there is memory for. */
const MAX_THREAD_MEGABYTES = 1024;

/** Reads a document with tools, in a thread, since one of many megabytes takes seconds. @throws UnreadableError, OutgoingError */
export async function readDocument(
  { kind, ...place }: { readonly kind: 'openapi' | 'file' } & (Remote | Local),
  parts: DocumentReaderParts,
  signal: AbortSignal,
): Promise<Offer> {
  const text = await textOf(place, parts, signal);
  const answer = await inThread(text, signal);
  if ('unreadable' in answer) throw new UnreadableError(answer.unreadable);
  const { tools, refused, providerTools, isOpenApi } = answer;
  if (kind === 'openapi' && !isOpenApi) {
    throw new UnreadableError('This is no OpenAPI document. Sources of kind `file` read lists of tools.');
  }
  const ofProviders = providerTools.map((name) => ({
    name,
    why: `${someOf([name])} is one that its provider defines`,
  }));
  const placed = isOpenApi && 'url' in place ? tools.map((tool) => withAddress(tool, place.url)) : tools;
  return { tools: placed, leftOut: [...refused, ...ofProviders] };
}

/** Servers of an OpenAPI document are relative to its own address; without one they are where the document is. */
function withAddress(tool: ToolDefinition, document: string): ToolDefinition {
  const { url: relative = '/' } = tool.metadata as { readonly url?: string };
  // Secrets in the address of the document stay references; those of people are no part of it.
  if (!URL.canParse(relative, document)) return tool;
  const { origin, pathname } = new URL(relative, document);
  if (origin === 'null') return tool;
  return { ...tool, metadata: { ...tool.metadata, url: (origin + pathname).replace(/\/$/, '') } };
}

async function textOf(
  place: Remote | Local,
  { readVariable, allowPrivate }: DocumentReaderParts,
  signal: AbortSignal,
): Promise<string> {
  if ('path' in place) {
    const { size } = await stat(place.path);
    if (size > MAX_BYTES) throw new UnreadableError(`The file is longer than ${MAX_BYTES / 1024 / 1024} MB.`);
    return withoutMark(await readFile(place.path, { encoding: 'utf8', signal }));
  }
  const response = await ask(withSecrets(place.url, readVariable), {
    headers: allWithSecrets(place.headers ?? {}, readVariable),
    ...{ timeoutMs: SILENCE_MS, allowPrivate, redirects: REDIRECTS, signal },
  });
  const { statusCode = 0 } = response;
  if (statusCode < 200 || statusCode > 299) {
    response.destroy();
    throw new UnreadableError(`The address answered ${statusCode} in place of a document.`);
  }
  return withoutMark(await readText(response, MAX_BYTES));
}

function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

function inThread(text: string, signal: AbortSignal): Promise<DocumentAnswer> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(threadFile('read-tools-thread'), {
      workerData: text,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_THREAD_MEGABYTES },
    });
    const stop = (): void => void thread.terminate();
    signal.addEventListener('abort', stop, { once: true });
    thread.once('message', resolve);
    thread.once('error', (error: NodeJS.ErrnoException) => {
      const isLarge = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      reject(isLarge ? new UnreadableError('It stands for more than there is memory for.') : error);
    });
    thread.once('exit', () => {
      signal.removeEventListener('abort', stop);
      reject(
        signal.aborted
          ? signal.reason
          : new Error('The thread that reads documents ended without an answer.'),
      );
    });
  });
}
