import { Command, Option } from 'commander';
import type { CatalogView } from '../catalog/catalog-administration.ts';
import { FALLBACKS } from '../decisions/decision.ts';
import { OUTCOMES } from '../ledger/entry.ts';
import type { DecisionPage, DecisionSummary } from '../routing/list-decisions.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import { type AskOptions, asking, serviceUrl, wholeNumber } from './options.ts';
import { print, table } from './terminal.ts';

interface DecisionsOptions extends AskOptions {
  readonly limit: number;
  readonly tool?: string;
  readonly outcome?: string;
  readonly unit?: string;
  readonly fallback?: string;
  readonly from?: string;
  readonly to?: string;
  readonly text?: string;
}

export function decisionsCommand(): Command {
  return asking(new Command('decisions').description('list what was decided, newest first'))
    .option('--limit <number>', 'how many', wholeNumber(1, 1_000_000), 20)
    .option('--tool <name>', 'those that showed this tool')
    .addOption(new Option('--outcome <outcome>', 'those with this outcome').choices([...OUTCOMES, 'none']))
    .option('--unit <id>', 'those of this user, unit or session')
    .addOption(
      new Option('--fallback <reason>', 'those ranked in another way').choices([...FALLBACKS, 'none']),
    )
    .option('--from <time>', 'ISO time, e.g. 2026-12-01T00:00:00Z')
    .option('--to <time>', 'ISO time')
    .option('--text <text>', 'those whose query contains this, where the catalog retains texts')
    .addHelpText(
      'after',
      `
Examples:
  bandolier decisions --tool refund_payment --outcome timeout
  bandolier decisions --outcome none --limit 100 --json`,
    )
    .action(listDecisions);
}

async function listDecisions({ catalog, url, json, limit, ...filter }: DecisionsOptions): Promise<void> {
  const api = new ApiClient(serviceUrl(url));
  const decisions: DecisionSummary[] = [];
  // Pages of a filter that few decisions match may be short.
  for (let cursor: string | null | undefined; cursor !== null && decisions.length < limit; ) {
    const wanted = Math.min(1000, limit - decisions.length);
    const query = new URLSearchParams({ ...filter, limit: String(wanted), ...(cursor && { cursor }) });
    const page: DecisionPage = await api.get(`${catalogPath(catalog)}/decisions?${query}`);
    decisions.push(...page.decisions);
    cursor = page.nextCursor;
  }
  const rows = decisions.map(({ decisionId, at, tools, rewards, query, fallback }) => [
    decisionId,
    at,
    tools.slice(0, 3).join(', ') + (tools.length > 3 ? ', …' : ''),
    rewards === null ? '?' : rewards.map(({ tool, outcome }) => `${tool ?? '*'} ${outcome}`).join(', '),
    [...(fallback === null ? [] : [`[${fallback}]`]), query ?? ''].join(' ').trim().slice(0, 60),
  ]);
  const none =
    json || filter.text === undefined || rows.length > 0 ? 'There are none.\n' : await noTexts(api, catalog);
  const head = ['DECISION', 'AT', 'SHOWN', 'REPORTED', 'QUERY'];
  print(json, { decisions }, rows.length === 0 ? none : table([head, ...rows]));
}

/** Why a search in texts found nothing. */
async function noTexts(api: ApiClient, catalog: string): Promise<string> {
  const { settings } = await api.get<CatalogView>(catalogPath(catalog));
  if (settings.retainText) return 'There are none.\n';
  return `Catalog ${catalog} keeps no texts, so none can be searched. For those that come, set retainText:
  curl -X PUT ${api.url}${catalogPath(catalog)} -H 'content-type: application/json' -d '{"retainText": true}'
`;
}
