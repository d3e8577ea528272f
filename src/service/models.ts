import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { DEFAULT_EMBEDDER, type EmbedderSources, Embedders } from '../catalog/embedders.ts';
import { Rerankers } from '../catalog/rerankers.ts';
import { QueryExpansions } from '../context/query-expansions.ts';
import { EmbeddingCache } from '../models/cache/embedding-cache.ts';
import { type Embedder, EmbedderUnavailableError, UnusableModelError } from '../models/embedder.ts';
import type { ChatSettings } from '../models/http/chat-endpoint.ts';
import { HttpEmbedder } from '../models/http/http-embedder.ts';
import { OnnxReranker } from '../models/onnx/onnx-reranker.ts';
import { modelFolder, openModelFolder } from '../models/open-embedder.ts';
import { pulledModelFolder } from '../models/pull/model-store.ts';
import type { Reranker } from '../models/reranker.ts';
import { createSplitters, type Splitters } from '../queries/llm-splitter.ts';
import type { Core } from './core.ts';
import type { Metrics } from './metrics.ts';

/** The chat endpoint that is configured; null if there is none. @throws Error if its model is not set */
function chatSettings(settings: Settings): ChatSettings | null {
  const { chatUrl, chatModel, chatKey, chatTimeoutMs, allowPrivateHosts } = settings;
  if (chatUrl === undefined) return null;
  if (chatModel === undefined) {
    throw new Error('BANDOLIER_CHAT_URL is set, but not which model to ask there. Set BANDOLIER_CHAT_MODEL.');
  }
  return {
    url: chatUrl,
    model: chatModel,
    key: chatKey,
    timeoutMs: chatTimeoutMs,
    allowPrivate: allowPrivateHosts,
  };
}

interface EmbedderListeners {
  /** An embedder became available or unavailable. */
  onChange(embedder: string, available: boolean, reason: string): void;
  /** So many texts were embedded. */
  onTexts(kind: 'query' | 'document', count: number): void;
  onError(message: string, error: unknown): void;
}

/** The models of a process: each is opened when a catalog names it first. */
export interface Models {
  readonly embedders: Embedders;
  readonly rerankers: Rerankers;
  readonly splitters: Splitters;
  readonly expansions: QueryExpansions;
  /** The chat endpoint that is configured; null if there is none. */
  readonly chat: ChatSettings | null;
}

/**
 * Opens the configured embedder, so that a model that cannot be used prevents the start; one whose endpoint is away now
 * does not. @throws UnusableModelError, and what `chatSettings` throws
 */
export async function openModels(
  { settings, log, onError, onClose }: Core,
  metrics: Metrics,
): Promise<Models> {
  const chat = chatSettings(settings);
  const asking = {
    steadyNow: () => performance.now(),
    onChange: (available: boolean, reason: string) => log.warn({ available }, `chat endpoint: ${reason}`),
  };
  const splitters = createSplitters(chat, asking);
  const expansions = new QueryExpansions({ chat, ...asking });
  const sources = embedderSources(settings, {
    onChange: (embedder, available, reason) => log.warn({ embedder, available }, `embedder: ${reason}`),
    onTexts: (kind, count) => metrics.textsEmbedded.inc({ kind }, count),
    onError,
  });
  const embedders = new Embedders(sources);
  onClose(() => embedders.close());
  await embedders.get(DEFAULT_EMBEDDER).catch((error) => {
    if (!(error instanceof EmbedderUnavailableError)) throw error;
  });
  const rerankers = new Rerankers((model) =>
    openReranker(settings, model, { now: () => Date.now(), onError }),
  );
  onClose(() => rerankers.close());
  return { embedders, rerankers, splitters, expansions, chat };
}

const ENDPOINT = 'endpoint';

/** The embedders that the settings offer to catalogs, by name. */
function embedderSources(settings: Settings, listeners: EmbedderListeners): EmbedderSources {
  return {
    nameOf: (name) => (name === 'default' ? configuredModel(settings) : name),
    resolve: (name) => resolveEmbedder(settings, name),
    locate: (model) => (isAbsolute(model) ? model : resolveEmbedder(settings, model)),
    open: (resolved) => openResolved(settings, resolved, listeners),
    openCache: (embedder) =>
      EmbeddingCache.open(join(settings.dataDir, 'embeddings'), embedder.fingerprint, embedder.dimensions, {
        onError: listeners.onError,
      }),
  };
}

/** The configured model by a name that means the same everywhere on this machine. */
function configuredModel({ model }: Settings): string {
  return model === 'bundled' || model === 'none' || model === ENDPOINT ? model : resolve(model);
}

/**
 * What a name stands for: `none`, `endpoint`, or a folder.
 * @throws UnusableModelError when there is nothing of this name.
 */
export function resolveEmbedder(settings: Settings, name: string): string {
  if (name === ENDPOINT || (name === 'default' && settings.model === ENDPOINT)) return ENDPOINT;
  if (name === 'none' || name === 'bundled') return modelFolder(name) ?? 'none';
  const configured = configuredModel(settings);
  if (name === 'default' || name === configured) return modelFolder(configured) ?? 'none';
  const folder = pulledModelFolder(settings.dataDir, name);
  if (folder !== null && existsSync(folder)) return folder;
  throw new UnusableModelError(
    `There is no embedder "${name}". There are default, bundled, none, endpoint, and models that were pulled: ` +
      'see `bandolier models list`, and `bandolier models pull` for more.',
  );
}

async function openResolved(
  settings: Settings,
  resolved: string,
  { onChange, onTexts }: EmbedderListeners,
): Promise<Embedder | null> {
  if (resolved === 'none') return null;
  const listeners = {
    onChange: (available: boolean, reason: string) => onChange(resolved, available, reason),
    onTexts,
  };
  if (resolved !== ENDPOINT) return openModelFolder(resolved, listeners);
  const { embeddingsUrl: url, embeddingsModel: model, embeddingsKey: key } = settings;
  if (url === undefined || model === undefined) {
    throw new UnusableModelError(
      'No embeddings endpoint is configured. Set BANDOLIER_EMBEDDINGS_URL and BANDOLIER_EMBEDDINGS_MODEL.',
    );
  }
  return HttpEmbedder.open({
    url,
    model,
    key,
    dimensions: settings.embeddingsDimensions,
    timeoutMs: settings.embeddingsTimeoutMs,
    allowPrivate: settings.allowPrivateHosts,
    ...listeners,
  });
}

/** Opens a pulled cross-encoder. @throws UnusableModelError when there is none of this name, or of no use. */
async function openReranker(
  settings: Settings,
  name: string,
  { now, onError }: { now(): number; onError(message: string, error: unknown): void },
): Promise<Reranker> {
  const folder = pulledModelFolder(settings.dataDir, name);
  if (folder === null || !existsSync(folder)) {
    throw new UnusableModelError(
      `There is no reranker "${name}": see \`bandolier models list\`, and \`bandolier models pull\` for more.`,
    );
  }
  return OnnxReranker.open({ folder, now, onError });
}
