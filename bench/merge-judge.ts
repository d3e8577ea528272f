/**
 * Do judges say what people say of pairs of tools? Precision and recall of `same`, and all confusions, on pairs that were labelled for
 * this: some for choosing rules, as many kept aside, and fresh ones that no rule has seen. By rules; by the chat model as well if BANDOLIER_CHAT_URL names one.
 *
 *     npx tsx bench/merge-judge.ts [--errors]
 */
import { parseArgs } from 'node:util';
import { ChatJudge } from '../src/merging/chat-judge.ts';
import type { Judge, PairVerdict, Relation } from '../src/merging/judge.ts';
import { RuleJudge } from '../src/merging/rule-judge.ts';
import { type LabelledPair, labelledPairs, type Part } from './merge-judge/labelled-pairs.ts';

const PARTS: readonly Part[] = ['for choosing', 'kept aside', 'fresh'];
const RELATIONS: readonly Relation[] = ['same', 'overlapping', 'different'];
const { values } = parseArgs({ options: { errors: { type: 'boolean', default: false } } });

const pairs = labelledPairs();
const judges: Judge[] = [new RuleJudge()];
const { BANDOLIER_CHAT_URL: url, BANDOLIER_CHAT_MODEL: model, BANDOLIER_CHAT_KEY: key } = process.env;
if (url && model)
  judges.push(new ChatJudge({ chat: { url, model, key, timeoutMs: 6_000, allowPrivate: true } }));

for (const judge of judges) {
  const verdicts = await judge.judgePairs(pairs.map(({ tools }) => tools));
  for (const part of PARTS) {
    const judged = pairs
      .map((pair, at) => ({ pair, verdict: verdicts[at] }))
      .filter(({ pair }) => pair.part === part);
    report(`${judge.name}, ${part}`, judged);
    if (values.errors && part === 'for choosing') for (const one of judged) showError(one);
  }
}

interface Judged {
  readonly pair: LabelledPair;
  readonly verdict: PairVerdict | null;
}

function report(title: string, judged: readonly Judged[]): void {
  const count = (label: Relation | null, said: Relation | null) =>
    judged.filter(({ pair, verdict }) => pair.relation === label && (verdict?.relation ?? null) === said)
      .length;
  const said = judged.filter(({ verdict }) => verdict?.relation === 'same');
  const right = said.filter(({ pair }) => pair.relation === 'same').length;
  const labelled = judged.filter(({ pair }) => pair.relation === 'same').length;
  console.log(
    `\n${title}: ${judged.length} pairs, precision of same ${ratio(right, said.length)}, recall ${ratio(right, labelled)}`,
  );
  console.log('labelled      | said same | overlapping | different | not decided');
  for (const label of RELATIONS) {
    const row = [...RELATIONS, null].map((relation) => String(count(label, relation)).padStart(9));
    console.log(`${label.padEnd(13)} | ${row.join(' | ')}`);
  }
  const confidence =
    said.reduce((sum, { verdict }) => sum + (verdict as PairVerdict).confidence, 0) / said.length;
  console.log(`mean confidence of same: ${confidence.toFixed(3)}`);
}

function ratio(part: number, whole: number): string {
  return `${(part / whole).toFixed(3)} (${part}/${whole})`;
}

function showError({ pair: { relation, tools }, verdict }: Judged): void {
  if (relation === verdict?.relation) return;
  const [a, b] = tools.map(
    ({ server, name, description }) => `${server ? `${server}/` : ''}${name}: ${description}`,
  );
  console.log(`${relation} → ${verdict?.relation}: ${verdict?.reason}\n    ${a}\n    ${b}`);
}
