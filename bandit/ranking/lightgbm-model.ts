import {
  CATEGORICAL,
  EnsembleBuilder,
  MISSING_LEFT,
  MISSING_NAN,
  MISSING_NONE,
  MISSING_ZERO,
  type Tree,
  type TreeEnsemble,
  TreesUnreadableError,
} from './tree-ensemble.ts';

/**
 * Reads a model of LightGBM, as `save_model` (text) or `dump_model` (JSON) wrote it: one score per row, no linear leaves. Scores are
 * those of `predict(raw_score=True)`, bit for bit.
 * @throws TreesUnreadableError for anything else
 */
export function readLightGbmModel(text: string): TreeEnsemble {
  return text.trimStart().startsWith('{') ? readDump(text) : readSaved(text);
}

function fail(what: string): never {
  throw new TreesUnreadableError(`This model of LightGBM cannot be used: ${what}.`);
}

function checkHead(scoresPerRow: unknown, isAverage: boolean): void {
  if (Number(scoresPerRow) !== 1) fail(`it has ${scoresPerRow} scores per row, and 1 is needed`);
  if (isAverage) fail('it averages its trees, as random forests do');
}

type Fields = ReadonlyMap<string, string>;

/** Lines of `key=value`, a block per tree, the first block about all of them. */
function readSaved(text: string): TreeEnsemble {
  const end = text.indexOf('\nend of trees');
  if (end < 0) fail('there is no line "end of trees"; it is no model or was cut short');
  const [head, ...blocks] = text.slice(0, end).split(/\r?\n(?=Tree=)/);
  const about = fieldsOf(head);
  checkHead(about.get('num_tree_per_iteration'), about.has('average_output'));
  const builder = new EnsembleBuilder();
  for (const block of blocks) builder.add(savedTree(fieldsOf(block), builder));
  return builder.build((about.get('feature_names') ?? fail('it names no features')).split(' '));
}

function fieldsOf(block: string): Fields {
  return new Map(
    block.split(/\r?\n/).map((line): [string, string] => {
      const equals = line.indexOf('=');
      return equals < 0 ? [line, ''] : [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
}

function savedTree(fields: Fields, builder: EnsembleBuilder): Tree {
  if (fields.get('is_linear') === '1') fail('its leaves are linear functions');
  const numbers = (name: string): number[] => (fields.get(name) ?? '').split(' ').filter(Boolean).map(Number);
  const flags = numbers('decision_type');
  const thresholds = numbers('threshold');
  const [starts, words] = [numbers('cat_boundaries'), numbers('cat_threshold')];
  for (const [node, flag] of flags.entries()) {
    if ((flag & CATEGORICAL) === 0) continue;
    const test = thresholds[node];
    thresholds[node] = builder.addCategories(words.slice(starts[test], starts[test + 1]));
  }
  const features = numbers('split_feature');
  const [lefts, rights] = [numbers('left_child'), numbers('right_child')];
  return { features, flags, thresholds, lefts, rights, leaves: numbers('leaf_value') };
}

interface DumpedNode {
  readonly leaf_value?: number;
  readonly split_feature: number;
  readonly threshold: number | string;
  readonly decision_type: string;
  readonly default_left: boolean;
  readonly missing_type: string;
  readonly left_child: DumpedNode;
  readonly right_child: DumpedNode;
}

interface Dump {
  readonly num_tree_per_iteration?: number;
  readonly average_output?: boolean;
  readonly feature_names?: readonly string[];
  readonly tree_info?: readonly { readonly tree_structure: DumpedNode }[];
}

const MISSING_KINDS: Readonly<Record<string, number>> = {
  None: MISSING_NONE,
  Zero: MISSING_ZERO,
  NaN: MISSING_NAN,
};

function readDump(text: string): TreeEnsemble {
  let dump: Dump;
  try {
    dump = JSON.parse(text);
  } catch (error) {
    fail(`it is no JSON (${(error as Error).message})`);
  }
  checkHead(dump.num_tree_per_iteration, dump.average_output === true);
  if (!Array.isArray(dump.feature_names) || !Array.isArray(dump.tree_info)) {
    fail('feature_names or tree_info is missing');
  }
  const builder = new EnsembleBuilder();
  for (const { tree_structure: root } of dump.tree_info) builder.add(dumpedTree(root, builder));
  return builder.build(dump.feature_names);
}

/** Nodes in the order of a walk from the root, so that children come after their parents. */
function dumpedTree(root: DumpedNode, builder: EnsembleBuilder): Tree {
  const tree = {
    features: [] as number[],
    flags: [] as number[],
    thresholds: [] as number[],
    lefts: [] as number[],
    rights: [] as number[],
    leaves: [] as number[],
  };
  const open: { at: DumpedNode; hang: (child: number) => void }[] = [{ at: root, hang: () => {} }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { at, hang } = next;
    if (at?.leaf_value !== undefined) {
      hang(~tree.leaves.length);
      tree.leaves.push(at.leaf_value);
      continue;
    }
    if (at?.left_child === undefined) fail('a node has neither a value nor children');
    const node = tree.features.length;
    hang(node);
    const { flags, threshold } = dumpedTest(at, builder);
    tree.features.push(at.split_feature);
    tree.flags.push(flags);
    tree.thresholds.push(threshold);
    tree.lefts.push(0);
    tree.rights.push(0);
    const hangAt = (side: number[]) => (child: number) => {
      side[node] = child;
    };
    open.push({ at: at.right_child, hang: hangAt(tree.rights) });
    open.push({ at: at.left_child, hang: hangAt(tree.lefts) });
  }
  return tree;
}

function dumpedTest(node: DumpedNode, builder: EnsembleBuilder): { flags: number; threshold: number } {
  if (node.decision_type === '==') {
    const words: number[] = [];
    for (const category of String(node.threshold).split('||').map(Number)) {
      while (words.length <= category >>> 5) words.push(0);
      words[category >>> 5] |= 1 << (category & 31);
    }
    return { flags: CATEGORICAL, threshold: builder.addCategories(words) };
  }
  const kind = MISSING_KINDS[node.missing_type];
  if (node.decision_type !== '<=' || kind === undefined) fail('a node has a test that is not known');
  return { flags: kind | (node.default_left ? MISSING_LEFT : 0), threshold: Number(node.threshold) };
}
