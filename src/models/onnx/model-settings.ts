import { UnusableModelError } from '../embedder.ts';

/** How the texts of a model are prepared, and what is made of its output. */
export interface ModelSettings {
  /** How the vectors of all tokens become one; null: the graph does that itself. */
  readonly pooling: 'mean' | 'cls' | null;
  readonly maxTokens: number;
  /** What this model wants before the text of a query, of a document. */
  readonly queryPrefix: string;
  readonly documentPrefix: string;
}

/** Our own settings file in a model folder; what it says goes before everything else. */
export const SETTINGS_FILE = 'bandolier-model.json';

/** The settings files of a model folder, parsed; `{}` where there is none. */
export interface ModelConfigs {
  readonly own: Json;
  /** config.json of transformers. */
  readonly model: Json;
  /** Those of sentence-transformers. */
  readonly sentence: Json;
  readonly pooling: Json;
  readonly prompts: Json;
}

export type Json = Readonly<Record<string, unknown>>;

/** Where each of them lies. */
export const CONFIG_FILES: Readonly<Record<keyof ModelConfigs, string>> = {
  own: SETTINGS_FILE,
  model: 'config.json',
  sentence: 'sentence_bert_config.json',
  pooling: '1_Pooling/config.json',
  prompts: 'config_sentence_transformers.json',
};

/** A static model adds vectors, so its card says so; anything else is taken for a transformer. */
const STATIC_MODEL_TYPE = 'static-embedding';
const MAX_TOKENS = { static: 512, transformer: 128 };
const MOST_TOKENS = 512;
const OWN_SETTINGS = ['pooling', 'maxTokens', 'queryPrefix', 'documentPrefix'];

/** @throws UnusableModelError when our own settings file says something that is not known. */
export function modelSettings(folder: string, configs: ModelConfigs): ModelSettings {
  const { own, model, sentence, prompts } = configs;
  const fault = (what: string): never => {
    throw new UnusableModelError(`${SETTINGS_FILE} in ${folder}: ${what}`);
  };
  const text = (value: unknown, name: string): string =>
    typeof value === 'string' ? value : fault(`${name} has to be a string.`);
  const unknown = Object.keys(own).filter((name) => !OWN_SETTINGS.includes(name));
  if (unknown.length > 0) fault(`${unknown.join(', ')} is unknown; there are ${OWN_SETTINGS.join(', ')}.`);
  if (own.pooling !== undefined && own.pooling !== 'mean' && own.pooling !== 'cls') {
    fault('pooling has to be "mean" or "cls".');
  }
  if (own.maxTokens !== undefined && !isTokenCount(own.maxTokens)) {
    fault(`maxTokens has to be a whole number from 4 to ${MOST_TOKENS}.`);
  }
  const usual = model.model_type === STATIC_MODEL_TYPE ? MAX_TOKENS.static : MAX_TOKENS.transformer;
  const wanted = [own.maxTokens, sentence.max_seq_length].find(isTokenCount) ?? usual;
  const positions = isTokenCount(model.max_position_embeddings) ? model.max_position_embeddings : MOST_TOKENS;
  const known = isObject(prompts.prompts) ? prompts.prompts : {};
  return {
    pooling: (own.pooling as 'mean' | 'cls' | undefined) ?? poolingOf(configs.pooling),
    maxTokens: Math.min(wanted, positions),
    queryPrefix: text(own.queryPrefix ?? known.query ?? '', 'queryPrefix'),
    documentPrefix: text(own.documentPrefix ?? known.document ?? known.passage ?? '', 'documentPrefix'),
  };
}

function poolingOf(config: Json): ModelSettings['pooling'] {
  if (config.pooling_mode_mean_tokens === true) return 'mean';
  return config.pooling_mode_cls_token === true ? 'cls' : null;
}

function isTokenCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 4 && (value as number) <= MOST_TOKENS;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
