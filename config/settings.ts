import { z } from 'zod';

/** What the documentation and `bandolier config` say about a setting, in addition to its type. */
export interface SettingNotes {
  readonly description: string;
  /** In words, for numbers and paths. */
  readonly unit?: string;
  /** Never shown in full. */
  readonly secret?: boolean;
  /** The environment variable, where it is not `BANDOLIER_` and the name in capitals. */
  readonly variable?: string;
}

const HOST = /(\[[\da-f:.]+\]|[\w-]+(\.[\w-]+)*)(:\d{1,5})?/.source;
const HOST_LIST = new RegExp(`^${HOST}(,${HOST})*$`, 'i');

/**
 * Everything that may be set about the service, each with its default. What belongs to one catalog (policy,
 * reward contract, fail mode) is set over the API instead: src/catalog/settings.ts.
 */
export const settingsSchema = z.strictObject({
  host: z.string().min(1).default('127.0.0.1').meta({
    description: 'Address to listen on. On one that is no loopback address requests need a key (`apiKey`).',
  }),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .default(8787)
    .meta({ description: 'Port to listen on; 0 takes a free one.', unit: 'TCP port' }),
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'Address of the service that the commands ask, and that `bandolier mcp` leads to. Not set: the one of this machine (`host`, `port`), and `bandolier mcp` opens the data folder itself.',
    }),
  apiKey: z
    .string()
    .regex(/^[!-~]{16,256}$/, '16 to 256 printable ASCII characters without blanks')
    .optional()
    .meta({
      description:
        'Key that every request has to carry (`Authorization: Bearer …`), except those of probes and of the documentation; the commands send it. Not set: on a loopback address no key is needed; elsewhere one is made at the first start that listens, printed once, and kept in the data folder (`api-key`).',
      secret: true,
    }),
  allowedHosts: z
    .string()
    .regex(HOST_LIST, 'names of hosts, each with or without a port, with commas between')
    .optional()
    .meta({
      description:
        'Names under which the router may be asked, in addition to localhost and loopback addresses (`router.example.com,10.0.0.7:8080`; without a port, every port). Others are answered 403: web pages could be behind them.',
      unit: 'names',
    }),
  dataDir: z
    .string()
    .min(1)
    .default('.bandolier')
    .meta({ description: 'Everything the service keeps. One process at a time may use it.', unit: 'folder' }),
  redisUrl: z
    .url({ protocol: /^rediss?$/ })
    .optional()
    .meta({
      description: 'Redis for several processes. Not set: embedded, everything in the data folder.',
      secret: true,
      variable: 'REDIS_URL',
    }),
  catalogs: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}(,[a-z0-9][a-z0-9-]{0,62})*$/, 'names of catalogs, with commas between')
    .optional()
    .meta({
      description: 'Serve these catalogs only (`a,b`): a shard. Requests for others are answered 421.',
      unit: 'names',
    }),
  model: z.string().min(1).default('bundled').meta({
    description:
      'Embedding model that new catalogs get: `bundled`, `none` (retrieval by words alone), `endpoint` (below) or a folder with an ONNX model. A catalog keeps the one it got, until `bandolier catalogs embedder` moves it.',
    unit: 'folder',
  }),
  embeddingsUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'Base address of an OpenAI-compatible embeddings endpoint, e.g. https://api.openai.com/v1. Catalogs with the embedder `endpoint` send it their tools and queries.',
    }),
  embeddingsModel: z.string().min(1).optional().meta({ description: 'Name of the model to ask there.' }),
  embeddingsKey: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Sent there as a bearer token.', secret: true }),
  embeddingsDimensions: z.int().min(8).max(4096).optional().meta({
    description: 'How long vectors to ask for, where the model offers a choice.',
    unit: 'dimensions',
  }),
  embeddingsTimeoutMs: z.int().min(50).max(30_000).default(2000).meta({
    description: 'How long a query waits for its vector before it goes by words alone.',
    unit: 'milliseconds',
  }),
  allowPrivateHosts: z.boolean().default(false).meta({
    description:
      'Embeddings, models and chat answers may come from addresses of this machine and its own network: true or false.',
  }),
  localSources: z.boolean().default(false).meta({
    description:
      'Sources that are put over HTTP may start programs and read files and folders of this machine: true or false. Whoever may send requests may then run programs as the user of the service.',
  }),
  tokenKey: z.string().min(16, 'at least 16 characters').optional().meta({
    description:
      'Encrypts the tokens of MCP servers that want OAuth, which `bandolier sources login` puts into the data folder, and the key of what users have (context). The same for that command and for all processes of the service. Over Redis context needs it; in a data folder without it that key lies in `keys/`, for its owner alone.',
    secret: true,
  }),
  tokenizer: z.string().min(1).default('estimate').meta({
    description:
      'What counts tokens, for budgets and reports: `estimate` (within some percent of `o200k`), `o200k` (the encoding of OpenAI’s models; needs the package gpt-tokenizer), or the tokenizer.json of a model or the folder with it. The same on all routers.',
    unit: 'file or folder',
  }),
  hubUrl: z
    .url({ protocol: /^https?$/ })
    .default('https://huggingface.co')
    .meta({ description: 'Where `bandolier models pull` finds models.' }),
  chatUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'Base address of an OpenAI-compatible chat endpoint, e.g. https://api.openai.com/v1. Catalogs with decomposition `llm` send it their queries, those with contextExpansion `chat` the queries of users who have items.',
    }),
  chatModel: z.string().min(1).optional().meta({ description: 'Name of the model to ask there.' }),
  chatKey: z.string().min(1).optional().meta({ description: 'Sent there as a bearer token.', secret: true }),
  chatTimeoutMs: z.int().min(50).max(30_000).default(2000).meta({
    description: 'How long a query waits for the chat model before it is handled without.',
    unit: 'milliseconds',
  }),
  logLevel: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .meta({ description: 'Least severe kind of log line that is written to standard error.' }),
  keepDecisionsDays: z.int().min(8).max(365).default(8).meta({
    description: 'How long a decision can be explained. At least 8: the longest reward window is 7 days.',
    unit: 'days',
  }),
  maxWaitMs: z.int().min(1).max(60_000).default(15).meta({
    description:
      'How long a request may have to wait for its turn. Those that would wait longer are answered 429 at once, so that the others are answered soon.',
    unit: 'milliseconds',
  }),
  maxPendingRewards: z.int().min(1000).max(10_000_000).default(100_000).meta({
    description: 'Accepted rewards not yet learned above which new ones are answered 503.',
    unit: 'rewards',
  }),
  shutdownSeconds: z
    .int()
    .min(0)
    .max(600)
    .default(10)
    .meta({ description: 'How long running requests may take to finish after Ctrl-C.', unit: 'seconds' }),
});

export type Settings = z.output<typeof settingsSchema>;
export type SettingName = keyof Settings;

export const settingNames = Object.keys(settingsSchema.shape) as SettingName[];

export function settingNotes(name: SettingName): SettingNotes {
  return settingsSchema.shape[name].meta() as unknown as SettingNotes;
}

/** `dataDir` → `BANDOLIER_DATA_DIR`. */
export function environmentVariable(name: SettingName): string {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return settingNotes(name).variable ?? `BANDOLIER_${snake}`;
}
