import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Words the tiny model knows; everything else is unknown to it. */
export const TINY_VOCABULARY = [
  '[PAD]',
  '[UNK]',
  '[CLS]',
  '[SEP]',
  'send',
  'mail',
  'read',
  'file',
  'weather',
  'now',
];

export interface TinyModelOptions {
  readonly dimensions?: number;
  readonly outputName?: string;
  /** Leaves the normalising out. */
  readonly raw?: boolean;
  /** Gives one vector per token instead of one per text. */
  readonly perToken?: boolean;
  /** Adds an input that the graph needs besides ids and mask. */
  readonly extraInput?: string;
  /** Rows of the table of token vectors; fewer than the vocabulary makes some words fail. */
  readonly rows?: number;
  /** Changes the token vectors. */
  readonly seed?: number;
  /** Other words than the tiny vocabulary. */
  readonly vocabulary?: readonly string[];
  /** Their vectors, one after the other. */
  readonly table?: Float32Array;
}

/** Writes a model folder that a real runtime can load: token vectors, summed over the text, normalised. */
export function writeTinyModel(folder: string, options: TinyModelOptions = {}): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'model.onnx'), tinyModel(options));
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(bertTokenizer(options.vocabulary)));
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ model_type: 'static-embedding' }));
  return folder;
}

/** Writes a folder with a cross-encoder: the score of a pair is the sum of one number per token, whose table this is. */
export function writeTinyPairModel(folder: string, weights: Readonly<Record<string, number>>): string {
  mkdirSync(folder, { recursive: true });
  const table = Float32Array.from(TINY_VOCABULARY, (word) => weights[word] ?? 0);
  const rows = TINY_VOCABULARY.length;
  const graph = Buffer.concat([
    bytesField(1, node('Gather', ['table', 'input_ids'], ['tokens'])),
    bytesField(1, node('Cast', ['attention_mask'], ['mask'], [attribute('to', FLOAT)])),
    bytesField(1, node('Unsqueeze', ['mask', 'last'], ['column'])),
    bytesField(1, node('Mul', ['tokens', 'column'], ['masked'])),
    bytesField(1, node('ReduceSum', ['masked', 'second'], ['logits'], [attribute('keepdims', 0)])),
    bytesField(2, 'tiny-pairs'),
    bytesField(5, tensor('table', FLOAT, [rows, 1], table)),
    bytesField(5, tensor('last', INT64, [1], BigInt64Array.of(2n))),
    bytesField(5, tensor('second', INT64, [1], BigInt64Array.of(1n))),
    ...['input_ids', 'attention_mask', 'token_type_ids'].map((name) =>
      bytesField(11, valueInfo(name, INT64, ['batch', 'sequence'])),
    ),
    bytesField(12, valueInfo('logits', FLOAT, ['batch', 1])),
  ]);
  const model = Buffer.concat([intField(1, 8), bytesField(7, graph), bytesField(8, intField(2, 13))]);
  writeFileSync(join(folder, 'model.onnx'), model);
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(bertTokenizer()));
  return folder;
}

/** The tokenizer.json of uncased WordPiece over a vocabulary, with the marks that BERT models expect around a text. */
export function bertTokenizer(vocabulary: readonly string[] = TINY_VOCABULARY) {
  const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'].filter((token) =>
    vocabulary.includes(token),
  );
  const id = (token: string): number => vocabulary.indexOf(token);
  return {
    version: '1.0',
    added_tokens: special.map((content) => ({ id: id(content), content, special: true, normalized: false })),
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [
        { SpecialToken: { id: '[CLS]', type_id: 0 } },
        { Sequence: { id: 'A', type_id: 0 } },
        { SpecialToken: { id: '[SEP]', type_id: 0 } },
      ],
      pair: [
        { SpecialToken: { id: '[CLS]', type_id: 0 } },
        { Sequence: { id: 'A', type_id: 0 } },
        { SpecialToken: { id: '[SEP]', type_id: 0 } },
        { Sequence: { id: 'B', type_id: 1 } },
        { SpecialToken: { id: '[SEP]', type_id: 1 } },
      ],
      special_tokens: {
        '[CLS]': { id: '[CLS]', ids: [id('[CLS]')], tokens: ['[CLS]'] },
        '[SEP]': { id: '[SEP]', ids: [id('[SEP]')], tokens: ['[SEP]'] },
      },
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(vocabulary.map((word, at) => [word, at])),
    },
  };
}

/** The protobuf bytes of an ONNX graph (field numbers of onnx.proto3, opset 13). */
function tinyModel({
  dimensions = 8,
  outputName = 'sentence_embedding',
  raw = false,
  perToken = false,
  extraInput,
  vocabulary = TINY_VOCABULARY,
  rows = vocabulary.length,
  seed = 1,
  table = Float32Array.from({ length: rows * dimensions }, (_, at) => {
    // Special tokens have no vector, so that a text without known words gets none.
    return at < 4 * dimensions ? 0 : Math.sin((at + 1) * (seed + 0.7));
  }),
}: TinyModelOptions): Buffer {
  const nodes = [
    node('Gather', ['table', 'input_ids'], ['tokens']),
    node('Cast', ['attention_mask'], ['mask'], [attribute('to', FLOAT)]),
    node('Unsqueeze', ['mask', 'last'], ['column']),
    node('Mul', ['tokens', 'column'], ['masked']),
    node('ReduceSum', ['masked', 'second'], ['sum'], [attribute('keepdims', 0)]),
    node('ReduceL2', ['sum'], ['norm'], [attribute('axes', [1]), attribute('keepdims', 1)]),
    node('Max', ['norm', 'least'], ['positive']),
    node('Div', ['sum', 'positive'], ['unit']),
    node('Identity', [perToken ? 'masked' : raw ? 'sum' : 'unit'], [outputName]),
  ];
  const inputs = ['input_ids', 'attention_mask', ...(extraInput === undefined ? [] : [extraInput])];
  const graph = Buffer.concat([
    ...nodes.map((one) => bytesField(1, one)),
    bytesField(2, 'tiny'),
    bytesField(5, tensor('table', FLOAT, [rows, dimensions], table)),
    bytesField(5, tensor('last', INT64, [1], BigInt64Array.of(2n))),
    bytesField(5, tensor('second', INT64, [1], BigInt64Array.of(1n))),
    bytesField(5, tensor('least', FLOAT, [], Float32Array.of(1e-12))),
    ...inputs.map((name) => bytesField(11, valueInfo(name, INT64, ['batch', 'sequence']))),
    bytesField(
      12,
      valueInfo(outputName, FLOAT, perToken ? ['batch', 'sequence', dimensions] : ['batch', dimensions]),
    ),
  ]);
  return Buffer.concat([intField(1, 8), bytesField(7, graph), bytesField(8, intField(2, 13))]);
}

const FLOAT = 1;
const INT64 = 7;

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

function intField(field: number, value: number): Buffer {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

function bytesField(field: number, content: Uint8Array | string): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
}

function attribute(name: string, value: number | number[]): Buffer {
  const [INT, INTS] = [2, 7];
  const content = Array.isArray(value)
    ? [...value.map((one) => intField(8, one)), intField(20, INTS)]
    : [intField(3, value), intField(20, INT)];
  return Buffer.concat([bytesField(1, name), ...content]);
}

function node(operator: string, inputs: string[], outputs: string[], attributes: Buffer[] = []): Buffer {
  return Buffer.concat([
    ...inputs.map((name) => bytesField(1, name)),
    ...outputs.map((name) => bytesField(2, name)),
    bytesField(4, operator),
    ...attributes.map((one) => bytesField(5, one)),
  ]);
}

function tensor(name: string, type: number, shape: number[], values: Float32Array | BigInt64Array): Buffer {
  return Buffer.concat([
    ...shape.map((size) => intField(1, size)),
    intField(2, type),
    bytesField(8, name),
    bytesField(9, new Uint8Array(values.buffer)),
  ]);
}

function valueInfo(name: string, type: number, shape: readonly (number | string)[]): Buffer {
  const sizes = shape.map((size) =>
    bytesField(1, typeof size === 'string' ? bytesField(2, size) : intField(1, size)),
  );
  const tensorType = Buffer.concat([intField(1, type), bytesField(2, Buffer.concat(sizes))]);
  return Buffer.concat([bytesField(1, name), bytesField(2, bytesField(1, tensorType))]);
}
