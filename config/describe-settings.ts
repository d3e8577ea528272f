import { z } from 'zod';
import type { SettingSource, SourcedSettings } from './read-settings.ts';
import {
  environmentVariable,
  type SettingName,
  settingNames,
  settingNotes,
  settingsSchema,
} from './settings.ts';

export interface SettingDescription {
  readonly name: SettingName;
  /** As it may be shown: secrets are masked. */
  readonly value: string;
  readonly source: SettingSource;
  readonly variable: string;
  readonly description: string;
}

/** The effective settings, for people to read. */
export function describeSettings({ settings, sources }: SourcedSettings): SettingDescription[] {
  return settingNames.map((name) => ({
    name,
    value: shown(name, settings[name]),
    source: sources[name],
    variable: environmentVariable(name),
    description: settingNotes(name).description,
  }));
}

function shown(name: SettingName, value: unknown): string {
  if (value === undefined) return '(not set)';
  return settingNotes(name).secret ? masked(String(value)) : String(value);
}

/** A URL keeps its host and loses its credentials and query, anything else is hidden as a whole. */
function masked(secret: string): string {
  if (!URL.canParse(secret)) return '***';
  const url = new URL(secret);
  const hadCredentials = url.username !== '' || url.password !== '';
  return `${url.protocol}//${hadCredentials ? '***@' : ''}${url.host}${url.pathname}${url.search ? '?***' : ''}`;
}

/** docs/configuration.md, made from the schema so that the two cannot disagree. */
export function settingsPage(): string {
  const rows = settingNames.map((name) => {
    const { description, unit } = settingNotes(name);
    const cells = [
      `\`${name}\``,
      `\`${environmentVariable(name)}\``,
      type(name),
      unit ?? '',
      defaultOf(name),
      description,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return `# Configuration

<!-- Made by \`npx tsx config/write-settings-page.ts\` from config/settings.ts; a test compares the two. -->

Settings come from four places; a later one wins: the default, \`bandolier.config.json\` in the working folder
(\`{"port": 9000}\`), the environment, an option of the command line. Unknown keys and unknown \`BANDOLIER_…\`
variables are errors. \`bandolier config\` prints the effective values and where each came from.

| key | environment variable | type | unit | default | what it does |
|---|---|---|---|---|---|
${rows.join('\n')}

## Settings of a catalog

What belongs to one catalog is set over the API: \`PUT /v1/catalogs/{catalog}\` with what is to change. What is left out
stays, also single members of \`policy\`, \`rewards\` and \`merging\`, and \`GET\` shows all of it. With another \`policy.name\` the policy starts from the defaults of
that one, \`exploration\` included.

| key | default | what it does |
|---|---|---|
| \`policy\` | \`sc-linucb-memory\` | How candidates are ranked, see [policies](policies.md): \`name\`, \`parameters\`, and \`exploration\`: \`plackett-luce\` draws the slate, the more evenly the higher \`temperature\` (0.03) is; \`ucb\` and \`greedy\` draw nothing, so their decisions cannot be evaluated afterwards |
| \`rewards\` | | The contract, see [rewards](rewards.md#the-contract) |
| \`embedder\` | what \`model\` above says | Moves the catalog to another embedding model, see [operations](operations.md#embedding-models) |
| \`reranker\` | none | \`{"model": …, "budgetMs": …}\`: a cross-encoder that was pulled reads the query with each of the 50 tools, and of the 50 instructions, that retrieval proposes |
| \`decomposition\` | \`clauses\` | How a query that asks for several things is taken apart, see [queries](queries.md#a-query-that-asks-for-several-things) |
| \`slate\` | \`policy\` | Who chooses the tools: the \`policy\`, or the retriever of \`toolscope\`, see [queries](queries.md#the-best-tool-for-each-part-first). A request that says \`slate\` overrides it |
| \`detail\` | \`full\` | How much of each definition is served: \`full\`; \`brief\`, the first sentences of the description (200 characters at most) with the names and types of the parameters; \`names\`, the name alone. A request that says \`detail\` overrides it; an [experiment](experiments.md#how-much-of-each-definition) finds out what is best |
| \`failMode\` | \`open\` | What a query gets, after pins, when no word and no vector of it touches any tool; with an embedding model this is rare: \`open\`, the tools that were successful most reliably; \`closed\`, nothing; \`passthrough\`, the whole catalog (1,000 tools at most), whatever \`k\` is. The answer says \`fallback: "low_confidence"\` |
| \`domains\` | none | What queries can be about, by words or by examples: pins can be limited to one, see [queries](queries.md#domains) |
| \`merging\` | \`rules\` | How tools that do the same are found, see [merging](merging.md#settings): \`judge\`, \`threshold\`, \`autoApprove\` and \`automatic\` |
| \`killSwitch\` | \`false\` | Serves retrieval order, whatever was learned. Learning goes on, experiments pause |
| \`contextExpansion\` | \`off\` | \`chat\`: the configured chat model says what of a [user's context](context.md#queries-expanded-by-a-chat-model) a query needs, before that is searched |
| \`retainText\` | \`false\` | Keeps the texts of queries with decisions |
| \`ignoreDates\` | \`false\` | With \`ignoreDates\`, a change of only dates or times is ignored |
| \`forgetRemovedAfterDays\` | 30 | How long what was learned about a removed tool is kept, should it come back |

Pins have a path of their own, see [queries](queries.md#pins).
`;
}

function defaultOf(name: SettingName): string {
  const value = settingsSchema.parse({})[name];
  return value === undefined ? 'not set' : `\`${value}\``;
}

function type(name: SettingName): string {
  const schema = z.toJSONSchema(settingsSchema.shape[name], { io: 'input' });
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.type === 'integer') return `integer ${schema.minimum} … ${schema.maximum}`;
  return schema.format === 'uri' ? 'URL' : 'text';
}
