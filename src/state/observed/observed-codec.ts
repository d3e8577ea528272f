import { OUTCOMES } from '../../ledger/entry.ts';
import { ByteReader, type ByteWriter } from '../../storage/byte-writer.ts';
import type { Credit, ToolCredit } from '../experiments/decision-credit.ts';
import { type KeptReward, REWARD_REASONS, REWARD_STATUSES } from '../fold-result.ts';
import type { DecisionOutcome, ObservedRecord, ToolReports } from './observed-record.ts';
import { decisionIdLength, type Names, readDecisionId, writeDecisionId } from './packed-names.ts';

/**
 * The record of a decision in some eighty bytes:
 *
 *   id | flags u8 | deadline f64 | until f64 | number of tools, number of versions | u32 for the name of each
 *   per tool what was reported, per version its case and features, the rewards, the credit, what it closed with, its outcome
 *
 * Names are numbers of a table that is not part of the record, at an offset that `namesOf` finds: so a record can change
 * from one table to another without being taken apart.
 */
const CLOSED = 1;
const CREDITED = 2;
/** It closed with a reward that is not 0. */
const DEFAULTED = 4;
const HAS_OUTCOME = 8;
const FLAGS_BYTES = 1;
const WINDOW_BYTES = 16;

export function packRecord(writer: ByteWriter, record: ObservedRecord, catalog: string, names: Names): void {
  const { tools, rewards, features, cases, credit, closedWith, outcome } = record;
  const isDefaulted = !Object.is(closedWith, 0);
  const versions = new Set([...cases.keys(), ...features.keys()]);
  writeDecisionId(writer, catalog, record.id);
  const hasOutcome = Object.keys(outcome).length > 0;
  writer.u8(
    (record.closed ? CLOSED : 0) |
      (credit === undefined ? 0 : CREDITED) |
      (isDefaulted ? DEFAULTED : 0) |
      (hasOutcome ? HAS_OUTCOME : 0),
  );
  writer.f64(record.deadline);
  writer.f64(record.until);
  writer.count(tools.size);
  writer.count(versions.size);
  for (const name of tools.keys()) writer.u32(names.retain(name));
  for (const version of versions) writer.u32(names.retain(version));
  for (const reports of tools.values()) writeReports(writer, reports);
  for (const version of versions) {
    // 0 stands for none.
    writer.count((cases.get(version) ?? -1) + 1);
    writer.f32s(features.get(version) ?? NO_FEATURES);
  }
  writer.count(rewards.size);
  const toolNames = [...tools.keys()];
  for (const reward of rewards.values()) writeReward(writer, reward, record.id, toolNames);
  if (credit !== undefined) writeCredit(writer, credit, toolNames);
  if (isDefaulted) writer.f64(closedWith);
  if (hasOutcome) writeOutcome(writer, outcome);
}

/** Returns whether a decision is open whose deadline closes it: tools were reported, and the reports have left it open. */
export function awaitsDeadline(bytes: Buffer): boolean {
  const at = decisionIdLength(bytes);
  if ((bytes[at] & CLOSED) !== 0) return false;
  return new ByteReader(bytes, at + FLAGS_BYTES + WINDOW_BYTES).count() > 0;
}

export function unpackRecord(bytes: Buffer, catalog: string, names: Names): ObservedRecord {
  const reader = new ByteReader(bytes);
  const id = readDecisionId(reader, catalog);
  const flags = reader.u8();
  const deadline = reader.f64();
  const until = reader.f64();
  const [toolCount, versionCount] = [reader.count(), reader.count()];
  const toolNames = Array.from({ length: toolCount }, () => names.at(reader.u32()));
  const versions = Array.from({ length: versionCount }, () => names.at(reader.u32()));
  const tools = new Map(toolNames.map((name) => [name, readReports(reader)]));
  const cases = new Map<string, number>();
  const features = new Map<string, Float32Array>();
  for (const version of versions) {
    const caseId = reader.count() - 1;
    if (caseId >= 0) cases.set(version, caseId);
    const rows = reader.f32s();
    if (rows.length > 0) features.set(version, rows);
  }
  const rewards = new Map<string, KeptReward>();
  for (let left = reader.count(); left > 0; left--) {
    const reward = readReward(reader, id, toolNames);
    rewards.set(reward.rewardId, reward);
  }
  const record: ObservedRecord = {
    id,
    deadline,
    until,
    closed: (flags & CLOSED) !== 0,
    closedWith: 0,
    tools,
    rewards,
    features,
    cases,
    outcome: {},
  };
  if ((flags & CREDITED) !== 0) record.credit = readCredit(reader, toolNames);
  if ((flags & DEFAULTED) !== 0) record.closedWith = reader.f64();
  if ((flags & HAS_OUTCOME) !== 0) readOutcome(reader, record.outcome);
  return record;
}

/** When the window of a packed record ends. */
export function windowOf(bytes: Buffer): Pick<ObservedRecord, 'deadline' | 'until'> {
  const at = decisionIdLength(bytes) + FLAGS_BYTES;
  return { deadline: bytes.readDoubleLE(at), until: bytes.readDoubleLE(at + 8) };
}

/** Where the numbers of its names lie in a record, four bytes each. */
export function namesOf(bytes: Buffer): { readonly start: number; readonly end: number } {
  const reader = new ByteReader(bytes, decisionIdLength(bytes) + FLAGS_BYTES + WINDOW_BYTES);
  const count = reader.count() + reader.count();
  return { start: reader.at, end: reader.at + 4 * count };
}

const NO_FEATURES = new Float32Array(0);

/** The numbers of an outcome; bit i says whether the i-th is there, the next one whether more was asked for. */
const OUTCOME_NUMBERS = ['whole', 'rating', 'reward', 'sufficed', 'learnedRating'] as const;
const DISCOVERED = 1 << OUTCOME_NUMBERS.length;

function writeOutcome(writer: ByteWriter, outcome: DecisionOutcome): void {
  let has = outcome.discovered ? DISCOVERED : 0;
  for (const [i, name] of OUTCOME_NUMBERS.entries()) if (outcome[name] !== undefined) has |= 1 << i;
  writer.u8(has);
  for (const name of OUTCOME_NUMBERS) {
    const value = outcome[name];
    if (value !== undefined) writer.f64(value);
  }
}

function readOutcome(reader: ByteReader, outcome: DecisionOutcome): void {
  const has = reader.u8();
  for (const [i, name] of OUTCOME_NUMBERS.entries()) if ((has & (1 << i)) !== 0) outcome[name] = reader.f64();
  if ((has & DISCOVERED) !== 0) outcome.discovered = true;
}

const CALLED = 1;
const SILENT = 2;
/** Its weight is not 1. */
const WEIGHED = 4;
/** What was taught is not simply the last value. */
const AGGREGATED = 8;

function writeReports(writer: ByteWriter, reports: ToolReports): void {
  const { called, silent, weight, taught } = reports;
  const isPlain = Object.is(taught, plainlyTaught(reports));
  writer.u8(
    (called ? CALLED : 0) | (silent ? SILENT : 0) | (weight === 1 ? 0 : WEIGHED) | (isPlain ? 0 : AGGREGATED),
  );
  writeValues(writer, reports);
  if (weight !== 1) writer.f64(weight);
  if (!isPlain) writer.f64(taught);
}

function readReports(reader: ByteReader): ToolReports {
  const flags = reader.u8();
  const values = readValues(reader);
  const weight = (flags & WEIGHED) === 0 ? 1 : reader.f64();
  const taught = (flags & AGGREGATED) === 0 ? plainlyTaught(values) : reader.f64();
  return { ...values, called: (flags & CALLED) !== 0, taught, weight, silent: (flags & SILENT) !== 0 };
}

type Values = Pick<ToolReports, 'count' | 'sum' | 'first' | 'last'>;

function plainlyTaught({ count, last }: Values): number {
  return count === 0 ? 0 : Math.min(1, Math.max(0, last));
}

/** Most tools are reported once, and worked or did not. */
const NOTHING = 0;
const ONCE_ZERO = 1;
const ONCE_ONE = 2;
const ONCE = 3;
const SEVERAL = 4;

function writeValues(writer: ByteWriter, values: Values): void {
  const kind = kindOf(values);
  writer.u8(kind);
  if (kind === ONCE) writer.f64(values.first);
  if (kind !== SEVERAL) return;
  writer.count(values.count);
  writer.f64(values.sum);
  writer.f64(values.first);
  writer.f64(values.last);
}

function kindOf({ count, sum, first, last }: Values): number {
  const isOne = Object.is(sum, first) && Object.is(last, first);
  if (!isOne || count > 1) return SEVERAL;
  if (count === 0) return Object.is(first, 0) ? NOTHING : SEVERAL;
  if (Object.is(first, 0)) return ONCE_ZERO;
  return first === 1 ? ONCE_ONE : ONCE;
}

function readValues(reader: ByteReader): Values {
  const kind = reader.u8();
  if (kind === NOTHING) return { count: 0, sum: 0, first: 0, last: 0 };
  if (kind === SEVERAL) {
    return { count: reader.count(), sum: reader.f64(), first: reader.f64(), last: reader.f64() };
  }
  const value = kind === ONCE ? reader.f64() : kind === ONCE_ONE ? 1 : 0;
  return { count: 1, sum: value, first: value, last: value };
}

/** The id of a reward is its decision's and 16 hex digits; any other is written out. */
const REWARD_TAIL = /^\.[0-9a-f]{16}$/;
const REWARD_TAIL_BYTES = 8;
const OTHER_ID = 0x80;
/** The tool of a reward: none, one that is written out, or from here on a number of the record's tools. */
const NO_TOOL = 0;
const OTHER_TOOL = 1;
const FIRST_TOOL = 2;

function writeReward(
  writer: ByteWriter,
  { rewardId, status, reason, tool, outcome }: KeptReward,
  decisionId: string,
  toolNames: readonly string[],
): void {
  const tail = rewardId.startsWith(decisionId) ? rewardId.slice(decisionId.length) : '';
  const isUsual = REWARD_TAIL.test(tail);
  const why = reason === undefined ? 0 : REWARD_REASONS.indexOf(reason) + 1;
  writer.u8((isUsual ? 0 : OTHER_ID) | (REWARD_STATUSES.indexOf(status) << 4) | why);
  if (isUsual) writer.hex(tail.slice(1));
  else writer.text(rewardId);
  writer.u8(OUTCOMES.indexOf(outcome));
  const at = tool === null ? -1 : toolNames.indexOf(tool);
  writer.count(tool === null ? NO_TOOL : at < 0 ? OTHER_TOOL : FIRST_TOOL + at);
  if (tool !== null && at < 0) writer.text(tool);
}

function readReward(reader: ByteReader, decisionId: string, toolNames: readonly string[]): KeptReward {
  const code = reader.u8();
  const rewardId = code & OTHER_ID ? reader.text() : `${decisionId}.${reader.hex(REWARD_TAIL_BYTES)}`;
  const status = REWARD_STATUSES[(code >> 4) & 7];
  const why = code & 15;
  const outcome = OUTCOMES[reader.u8()];
  const number = reader.count();
  const named = number === OTHER_TOOL ? reader.text() : toolNames[number - FIRST_TOOL];
  const kept = { rewardId, status, tool: number === NO_TOOL ? null : named, outcome };
  return why === 0 ? kept : { ...kept, reason: REWARD_REASONS[why - 1] };
}

function writeCredit(writer: ByteWriter, { tools, latencyMs, cost }: Credit, names: readonly string[]): void {
  writer.count(tools.length);
  for (const credit of tools) {
    writer.count(credit.tool === null ? 0 : names.indexOf(credit.tool) + 1);
    writeValues(writer, credit);
  }
  for (const { sum, of } of [latencyMs, cost]) {
    writer.u8(of);
    if (of > 0) writer.f64(sum);
  }
}

function readCredit(reader: ByteReader, names: readonly string[]): Credit {
  const tools = Array.from({ length: reader.count() }, (): ToolCredit => {
    const number = reader.count();
    return { tool: number === 0 ? null : names[number - 1], ...readValues(reader) };
  });
  const [latencyMs, cost] = Array.from({ length: 2 }, () => {
    const of = reader.u8();
    return { sum: of > 0 ? reader.f64() : 0, of };
  });
  return { tools, latencyMs, cost };
}
