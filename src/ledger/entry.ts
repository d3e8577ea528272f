import type { ToolDefinition } from '../catalog/tool.ts';
import type { CatalogSettings } from '../catalog/settings.ts';

/** Place of an entry in the ledger of its catalog: 1 for the first, then without gaps. 0 is "before the first". */
export type Position = number;

/** Everything that changes what the router knows. One union, one file: this is the vocabulary of the fold. */
export type Entry = ToolsEntry | SettingsEntry | ObservationEntry | CloseEntry | ForgetEntry;

interface EntryBase {
  /** The fold applies the first entry with this key and ignores every later one (at-least-once delivery). */
  readonly key: string;
  /** When it was accepted, ms since the epoch: the fold's only clock. */
  readonly at: number;
  /** Who asked for it, where that is known. */
  readonly actor?: string;
}

/** Tools put or removed, with their embeddings, so that no replica embeds twice. */
export interface ToolsEntry extends EntryBase {
  readonly kind: 'tools';
  readonly put: readonly ToolPut[];
  readonly remove: readonly string[];
  /** Full sync: the definition hash of every tool that shall exist afterwards; all others are removed. */
  readonly sync?: Readonly<Record<string, string>>;
  /** Refused unless the catalog has this revision. */
  readonly ifMatch?: string;
}

export interface ToolPut {
  readonly tool: ToolDefinition;
  readonly hash: string;
  /** Unit vector of the document text, or null when there is no embedder. */
  readonly embedding: Float32Array | null;
}

export interface SettingsEntry extends EntryBase {
  readonly kind: 'settings';
  readonly settings: CatalogSettings;
}

/** Rewards of one decision, joined with everything of that decision that learning needs. */
export interface ObservationEntry extends EntryBase {
  readonly kind: 'observation';
  readonly decision: ObservedDecision;
  readonly reports: readonly OutcomeReport[];
  /** True unless the reporter said that more will come. */
  readonly closes: boolean;
}

/** A decision as learning needs it (a part of the decision log's record). */
export interface ObservedDecision {
  readonly id: string;
  readonly at: number;
  /** Rewards accepted after this are late. */
  readonly deadline: number;
  readonly fingerprint: string | null;
  readonly embedding: Float32Array | null;
  readonly terms: { readonly terms: Uint32Array; readonly weights: Float32Array };
  /** The slate in order. */
  readonly shown: readonly string[];
  /** e(q)·φ of each shown tool at decision time. */
  readonly similarities: Float32Array;
  /** Extra features of each shown tool by policy version, row-major, as that version's policy orders them. */
  readonly features: Readonly<Record<string, Float32Array>>;
  /** Hash of the unit (user or session) the request came from, for limits and erasure; 0 if none was named. */
  readonly unit: number;
}

export type Outcome = 'success' | 'failure' | 'partial' | 'timeout' | 'refused' | 'not_used';

export interface OutcomeReport {
  readonly rewardId: string;
  readonly tool: string;
  readonly outcome: Outcome;
  /** −1…1. */
  readonly value: number;
  /** Importance of this report, > 0; 1 unless said. */
  readonly weight: number;
  /** When it was accepted, ms since the epoch. */
  readonly at: number;
  readonly latencyMs?: number;
  readonly cost?: number;
}

/** The deadline of a decision that has outcomes but was never closed. */
export interface CloseEntry extends EntryBase {
  readonly kind: 'close';
  readonly decisionId: string;
}

/** What was learned about a tool or from a unit is erased. */
export interface ForgetEntry extends EntryBase {
  readonly kind: 'forget';
  readonly tool?: string;
  readonly unit?: number;
}
