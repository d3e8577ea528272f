import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;

/** For every folder with a fence: what it may import, and what it may not. */
const FENCES: Record<string, { readonly allowed: string[]; readonly forbidden: string[] }> = {
  'bandit/policies': {
    allowed: ['./cosine.ts', '../policy.ts', '../memory/case.ts'],
    forbidden: [
      'node:fs',
      'zod',
      '@hono/zod-openapi',
      'zod/v4/core.js',
      '../../src/errors/problem.ts',
      '../../config/settings.ts',
    ],
  },
  config: {
    allowed: ['zod', 'node:fs', './settings.ts'],
    forbidden: ['hono', '../src/errors/problem.ts', '../bandit/policy.ts'],
  },
  'src/errors': { allowed: ['./problem.ts'], forbidden: ['node:fs', 'zod', '../http/app.ts'] },
  'src/scheduling': { allowed: ['./every.ts'], forbidden: ['node:fs', 'zod', '../state/fold.ts'] },
  'src/storage': {
    allowed: ['node:fs', 'node:fs/promises', './segment.ts', '../errors/store-errors.ts'],
    forbidden: ['../ledger/entry.ts', '../errors/problem.ts', 'lmdb'],
  },
  'src/redis': {
    allowed: ['ioredis', 'node:crypto', './keys.ts', '../errors/store-errors.ts'],
    forbidden: ['../ledger/entry.ts', 'bullmq'],
  },
  'src/ledger': {
    allowed: ['../redis/keys.ts', 'node:path', '../../bandit/policy.ts', '../storage/segment.ts'],
    forbidden: ['../state/fold.ts', '../../config/settings.ts', 'zod'],
  },
  'src/queue': { allowed: ['../storage/segment.ts'], forbidden: ['../ledger/entry.ts', '../http/app.ts'] },
  'src/state': {
    allowed: [
      '../ledger/entry.ts',
      '../../bandit/policy.ts',
      '../scheduling/slices.ts',
      'node:timers/promises',
    ],
    forbidden: [
      '../catalog/catalog.ts',
      '../decisions/decision.ts',
      '../redis/keys.ts',
      '../errors/problem.ts',
      'prom-client',
    ],
  },
  'src/state/experiments': {
    allowed: ['../catalog-state.ts', '../../ledger/entry.ts', '../observed/observed-record.ts'],
    forbidden: ['../../catalog/catalog.ts', '../../redis/keys.ts', '../../errors/problem.ts'],
  },
  'src/snapshots': {
    allowed: ['../state/fold.ts', '../redis/keys.ts', '../storage/segment.ts'],
    forbidden: ['../catalog/catalog.ts', '../stores/stores.ts', '../errors/problem.ts'],
  },
  'src/outgoing': {
    allowed: ['node:http', './private-address.ts'],
    forbidden: ['../ledger/entry.ts', '../errors/problem.ts', 'undici'],
  },
  'src/outgoing/mcp': {
    allowed: ['@modelcontextprotocol/client', '../request.ts', 'node:child_process'],
    forbidden: ['../../errors/problem.ts', '../../ledger/entry.ts', '@modelcontextprotocol/server'],
  },
  'src/gateway': {
    allowed: ['../outgoing/mcp/mcp-connection.ts', '@cfworker/json-schema', './server.ts'],
    forbidden: ['../routing/routing.ts', '../http/app.ts', 'ajv'],
  },
  'src/models': {
    allowed: ['../outgoing/request.ts', './embedder.ts'],
    forbidden: ['../retrieval/bm25.ts', '../ledger/entry.ts', '../errors/problem.ts'],
  },
  'src/models/onnx': {
    allowed: ['onnxruntime-node', '../embedder.ts', '../../../config/package-root.ts'],
    forbidden: ['../../retrieval/bm25.ts', '../../catalog/catalog.ts'],
  },
  'src/retrieval': {
    allowed: ['../ledger/entry.ts', '../../bandit/policy.ts', 'hnswlib-node'],
    forbidden: ['../models/embedder.ts', '../catalog/catalog.ts', 'onnxruntime-node', 'hono'],
  },
  'src/catalog': {
    allowed: [
      '../retrieval/bm25.ts',
      '../models/embedder.ts',
      '../snapshots/stored-state.ts',
      '../errors/problem.ts',
    ],
    forbidden: ['../decisions/decision.ts', '../rewards/reward-job.ts', '../http/app.ts'],
  },
  'src/instructions': {
    allowed: ['../catalog/catalog.ts', '../retrieval/tool-index.ts', '../state/instruction-table.ts'],
    forbidden: ['../routing/decide.ts', '../decisions/decision.ts', '../http/app.ts'],
  },
  'src/transcripts': {
    allowed: ['../queries/conversation.ts', '../ledger/entry.ts', './turns.ts'],
    forbidden: ['../queries/splitter.ts', '../catalog/cases.ts', '../ledger/ledger.ts', 'zod'],
  },
  'src/tokens': {
    allowed: [
      './token-counter.ts',
      'node:fs/promises',
      '@huggingface/tokenizers',
      'gpt-tokenizer/encoding/o200k_base',
    ],
    forbidden: ['../ledger/entry.ts', '../models/embedder.ts', '../errors/problem.ts', 'zod'],
  },
  'src/queries': {
    allowed: ['../retrieval/tokenise.ts', '../models/http/chat-endpoint.ts', './splitter.ts'],
    forbidden: ['../retrieval/tool-index.ts', '../decisions/decision.ts', '../errors/problem.ts', 'zod'],
  },
  'src/decisions': {
    allowed: ['../queue/job-queue.ts', '../redis/keys.ts', '../ledger/entry.ts'],
    forbidden: ['../state/fold.ts', '../routing/decide.ts', '../queries/splitter.ts'],
  },
  'src/stores': {
    allowed: ['../decisions/decision-log.ts', '../snapshots/file-leases.ts', '../../config/settings.ts'],
    forbidden: ['../catalog/catalog.ts', '../routing/routing.ts', '../http/app.ts'],
  },
  'src/evaluation': {
    allowed: ['../decisions/decision.ts', '../experiments/experiment-draft.ts', '../state/fold.ts'],
    forbidden: ['../rewards/reward-job.ts', '../routing/decide.ts', '../http/app.ts'],
  },
  'src/experiments': {
    allowed: ['../catalog/catalog.ts', '../state/fold.ts', '../../bandit/policy.ts', 'node:crypto'],
    forbidden: ['../decisions/decision.ts', '../rewards/reward-job.ts', '../http/app.ts'],
  },
  'src/context': {
    allowed: ['../catalog/catalogs.ts', '../storage/durable-file.ts', '../redis/keys.ts', './item.ts'],
    forbidden: ['../routing/routing.ts', '../http/app.ts', '../stores/stores.ts', 'ioredis'],
  },
  'src/merging': {
    allowed: ['../catalog/catalog.ts', '../models/http/chat-endpoint.ts', '../queue/job-queue.ts', 'zod'],
    forbidden: ['../http/app.ts', '../routing/decide.ts', '../rewards/reward-job.ts', 'hono'],
  },
  'src/sources': {
    allowed: ['../catalog/catalog.ts', '../outgoing/request.ts', '../queue/job-queue.ts', 'yaml'],
    forbidden: ['../http/app.ts', '../routing/decide.ts', '../rewards/reward-job.ts', 'hono'],
  },
  'src/sources/formats': {
    allowed: ['../../ledger/entry.ts', '../../routing/brief-schema.ts', 'yaml'],
    forbidden: ['../../http/wire/tool.ts', '../../cli/terminal.ts', '../../routing/decide.ts'],
  },
  'src/routing': {
    allowed: ['../queries/splitter.ts', '../catalog/catalog.ts', '../decisions/decision.ts'],
    forbidden: ['../rewards/reward-job.ts', '../http/wire/parameters.ts', '../service/service.ts'],
  },
  'src/rewards': {
    allowed: ['../routing/routing.ts', '../decisions/decision.ts', 'zod'],
    forbidden: ['../http/app.ts', '../service/service.ts', 'hono'],
  },
  'src/simulation': {
    allowed: ['../routing/decide.ts', '../decisions/observed-decision.ts', 'node:timers/promises'],
    forbidden: ['../http/app.ts', '../service/service.ts', 'node:fs'],
  },
  'src/http/endpoints': {
    allowed: [
      '../endpoint.ts',
      '../wire/parameters.ts',
      '../../errors/problem.ts',
      '../../routing/route-request.ts',
      '@hono/zod-openapi',
    ],
    forbidden: [
      '../../storage/segment.ts',
      '../../queue/job-queue.ts',
      '../../ledger/ledger.ts',
      'ioredis',
      '../../service/service.ts',
      '../../stores/stores.ts',
      '../../decisions/file-decision-log.ts',
      '../../../config/settings.ts',
    ],
  },
  'src/mcp': {
    allowed: ['../routing/routing.ts', '../catalog/tools.ts', '@modelcontextprotocol/server', 'zod'],
    forbidden: ['../http/app.ts', '../service/service.ts', '../stores/stores.ts', 'hono'],
  },
  workers: {
    allowed: ['../src/rewards/reward-job.ts'],
    forbidden: ['../src/http/app.ts', '../src/service/service.ts'],
  },
};

/** One line of code each that the fence stops outside the imports. */
const PLANTED = {
  'src/routing/environment.ts': 'export const home = process.env.HOME;',
  'bandit/clock.ts': 'export const now = () => Date.now();',
  'src/state/first.ts': "import type { B } from './second.ts';\nexport type A = B | 1;",
  'src/state/second.ts': "import type { A } from './first.ts';\nexport type B = A | 2;",
};

const nouns = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
const codeFolders = ['bandit', 'config', 'workers', ...nouns.map(({ name }) => `src/${name}`)];

const folder = mkdtempSync(join(tmpdir(), 'bandolier-fence-'));
afterAll(() => rmSync(folder, { recursive: true }));

function plant(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

interface Finding {
  readonly category: string;
  readonly message: string;
  readonly path: string;
  readonly line: number;
}

/** Runs the project's own rules over the planted files. */
function findings(): Finding[] {
  const { vcs: _, $schema: __, ...config } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'));
  plant('biome.json', JSON.stringify(config));
  const biome = join(root, 'node_modules/.bin/biome');
  const { stdout } = spawnSync(biome, ['lint', '--max-diagnostics=none', '--reporter=github', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const pattern = /^::error title=(\S+?),file=(.+?),line=(\d+),.*?::(.*)$/gm;
  return [...stdout.matchAll(pattern)].map(([, category, path, line, message]) => ({
    category,
    message,
    path: path.replace(`${folder}/`, ''),
    line: Number(line),
  }));
}

const importLine = (specifier: string, index: number) =>
  `import * as m${index} from '${specifier}';\nvoid m${index};`;

describe('the fence', () => {
  for (const [place, { allowed, forbidden }] of Object.entries(FENCES)) {
    plant(`${place}/planted-allowed.ts`, allowed.map(importLine).join('\n'));
    plant(`${place}/planted-forbidden.ts`, forbidden.map(importLine).join('\n'));
  }
  for (const [path, text] of Object.entries(PLANTED)) plant(path, text);
  const found = findings();

  it.each(Object.entries(FENCES))(
    'around %s bites, with a sentence, and only where it should',
    (place, fence) => {
      const caught = found.filter(
        ({ path, category }) => path.startsWith(`${place}/planted`) && /Imports$/.test(category),
      );
      const sentences = new Set(caught.map(({ message }) => message));
      expect(caught.filter(({ path }) => path.endsWith('allowed.ts'))).toEqual([]);
      const stopped = caught.map(({ line }) => fence.forbidden[(line - 1) / 2]);
      expect(stopped.sort()).toEqual([...fence.forbidden].sort());
      expect([...sentences]).toEqual([expect.stringMatching(/^(bandit|config|src|workers)\/.*\.$/)]);
    },
  );

  it('keeps the environment in config/, clocks out of bandit/, and circles out of everything', () => {
    const caught = found.filter(({ path }) => path in PLANTED).map(({ path, category }) => [path, category]);
    expect(caught.sort()).toEqual([
      ['bandit/clock.ts', 'lint/style/noRestrictedGlobals'],
      ['src/routing/environment.ts', 'lint/style/noProcessEnv'],
      ['src/state/first.ts', 'lint/suspicious/noImportCycles'],
      ['src/state/second.ts', 'lint/suspicious/noImportCycles'],
    ]);
  });

  it('is there for every folder that holds code', () => {
    const fenced = Object.keys(FENCES).map((place) =>
      place
        .split('/')
        .slice(0, place.startsWith('src') ? 2 : 1)
        .join('/'),
    );
    // They put the others together.
    const unfenced = ['src/cli', 'src/service'];
    for (const place of codeFolders) expect([...fenced, ...unfenced]).toContain(place);
  });
});

/** Not as the end of another name. */
function namedIn(readme: string, file: string): boolean {
  return new RegExp(`(?<![\\w-])${file.replaceAll('.', '\\.')}`).test(readme);
}

it('every folder that holds code opens with a README that names each of its files', () => {
  const unnamed = codeFolders.flatMap((place) => {
    const readme = readFileSync(join(root, place, 'README.md'), 'utf8');
    const files = readdirSync(join(root, place), { recursive: true, encoding: 'utf8' });
    return files
      .filter(
        (file) => file.endsWith('.ts') && !file.includes('assembly/') && !namedIn(readme, basename(file)),
      )
      .map((file) => `${place}/${file}`);
  });
  expect(unnamed).toEqual([]);
});
