import type { ChatSettings } from '../models/http/chat-endpoint.ts';
import { LlmSplitter, type LlmSplitterOptions, MissingLlmSplitter } from './llm-splitter.ts';
import { ClauseSplitter } from './split-query.ts';
import type { Splitter, SplitterName } from './splitter.ts';

/** The splitter for every name that a catalog may ask for. */
export type Splitters = Readonly<Record<SplitterName, Splitter>>;

/** @param chat null: no endpoint is configured. */
export function createSplitters(
  chat: ChatSettings | null,
  options: Omit<LlmSplitterOptions, 'chat'>,
): Splitters {
  return {
    clauses: new ClauseSplitter(),
    llm: chat === null ? new MissingLlmSplitter() : new LlmSplitter({ ...options, chat }),
  };
}
