import { Command } from 'commander';
import type { DecisionExplanation } from '../routing/explain-decision.ts';
import { ApiClient } from './api-client.ts';
import { beginningOf } from './instructions.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { print } from './terminal.ts';

export function explainCommand(): Command {
  return asking(new Command('explain').description('why were these tools shown?'), { catalog: false })
    .argument('<decision>', 'id of the decision')
    .action(async (id: string, { url, json }: AskOptions) => {
      const api = new ApiClient(serviceUrl(url));
      const explained = await api.get<DecisionExplanation>(`/v1/decisions/${encodeURIComponent(id)}`);
      print(json, explained, explanationText(explained));
    });
}

/** Candidates that were not shown: so many are enough to see what was left out. */
const SHOWN_REST = 5;

function explanationText({ candidates, rewards, ...decision }: DecisionExplanation): string {
  const { decisionId, at, catalog, policy, fallback, query } = decision;
  const shown = candidates.filter(({ rank }) => rank !== null);
  const rest = candidates.filter(({ rank }) => rank === null);
  const lines = [
    `${decisionId}, ${at}, catalog ${catalog}, ${policy.version}`,
    ...(query === undefined ? [] : [`“${query}”`]),
    ...(fallback === null ? [] : [`Not the usual ranking: ${fallback}.`]),
    '',
    ...shown.map(
      ({ rank, name, score, sentence }) => `${rank}. ${name} (${score.toFixed(3)})\n   ${sentence}`,
    ),
    ...(rest.length === 0 ? [] : ['', `Not shown, ${Math.min(SHOWN_REST, rest.length)} of ${rest.length}:`]),
    ...rest
      .slice(0, SHOWN_REST)
      .map(({ name, score, sentence }) => `   ${name} (${score.toFixed(3)}): ${sentence}`),
    ...contextLines(decision),
    ...budgetLines(decision),
    '',
    ...(rewards.length === 0 ? ['No rewards are known.'] : ['Rewards:']),
    ...rewards.map((reward) => `   ${rewardText(reward)}`),
  ];
  return `${lines.join('\n')}\n`;
}

function contextLines({
  context = [],
  contextExpanded,
}: Pick<DecisionExplanation, 'context' | 'contextExpanded'>): readonly string[] {
  if (context.length === 0) return [];
  const expanded = contextExpanded === true ? ', found with what a chat model said of the query' : '';
  return [
    '',
    `Of what the user has${expanded}:`,
    ...context.map((item) =>
      'note' in item
        ? `   (${item.score.toFixed(2)}) ${item.note}`
        : `   ${item.id} (${item.score.toFixed(2)}): ${beginningOf(item.text)}\n      ${item.reasons.join(', ')}`,
    ),
  ];
}

function budgetLines({ budget, instructions = [] }: Omit<DecisionExplanation, 'candidates' | 'rewards'>) {
  if (budget === undefined) return [];
  const { tokens, leftOut, costTokens, tokenBudget } = budget;
  const served = instructions
    .filter((one) => one.served)
    .map(({ id, isSafety, gain, propensity }) =>
      isSafety
        ? `${id} (safety)`
        : `${id} (gain ${gain.toFixed(3)}, chance ${Math.round(propensity * 100)} %)`,
    );
  const dear = [
    ...leftOut.tools.map(({ name, tokens: cost }) => `${name} (${cost})`),
    ...leftOut.instructions.map(({ id, tokens: cost }) => `${id} (${cost})`),
  ];
  return [
    '',
    `${tokens.total} tokens of ${tokenBudget ?? 'no limit'}; the whole catalog takes ${tokens.monolithic}. At the full price: ${costTokens.full}.`,
    ...(served.length === 0 ? [] : [`Instructions: ${served.join(', ')}`]),
    ...(dear.length === 0 ? [] : [`Left out for their cost: ${dear.join(', ')}`]),
  ];
}

type Reward = DecisionExplanation['rewards'][number];

function rewardText({ tool, outcome, status, reason }: Reward): string {
  return `${tool ?? 'the whole decision'}: ${outcome}, ${status}${reason === undefined ? '' : ` (${reason})`}`;
}
