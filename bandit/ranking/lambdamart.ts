import { FeatureBins } from './feature-bins.ts';
import { TreeGrower, type TreeSettings } from './histogram-tree.ts';
import { LambdaGradients, type LambdaSettings } from './lambda-gradients.ts';
import { checkRankingSet, type RankingSet } from './ranking-set.ts';
import { EnsembleBuilder, TreeEnsemble } from './tree-ensemble.ts';

export interface LambdaMartSettings extends TreeSettings, LambdaSettings {
  /** Trees at most, 1…. */
  readonly rounds: number;
}

/** LightGBM's defaults for `lambdarank`. */
export const LAMBDA_MART_DEFAULTS: LambdaMartSettings = {
  rounds: 100,
  numLeaves: 31,
  minDataInLeaf: 20,
  lambda: 0,
  learningRate: 0.1,
  truncation: 30,
  sigmoid: 1,
  normalise: true,
};

/** What is known after a tree. */
export interface Round {
  /** Trees so far, 1…. */
  readonly round: number;
  /** Scores of the training rows: n, the same array in every round. */
  readonly scores: Float64Array;
  /** Returns the trees so far. */
  readonly ensemble: () => TreeEnsemble;
}

/**
 * LambdaMART (Burges 2010, section 7): each round grows a tree on the derivatives of the LambdaRank loss. It ends early when no split
 * gains anything. Between two rounds the caller may do something else, stop, or never come back. Deterministic: the same set and
 * settings give the same bits. With a `base` its trees come first, and the others go on from its scores. A round takes O(n·d) and the sorting of each query.
 * @throws RangeError when the set or a setting is not valid
 */
export function* lambdaMartRounds(
  set: RankingSet,
  settings: LambdaMartSettings = LAMBDA_MART_DEFAULTS,
  base: TreeEnsemble | null = null,
): Generator<Round, TreeEnsemble> {
  checkRankingSet(set);
  checkSettings(settings);
  const rows = set.labels.length;
  const scores = base === null ? new Float64Array(rows) : base.scores(set.features);
  const [gradients, hessians] = [0, 0].map(() => new Float64Array(rows));
  const lambdas = new LambdaGradients(set, settings);
  const grower = new TreeGrower(new FeatureBins(set), settings);
  const trees = new EnsembleBuilder();
  const ensemble = (): TreeEnsemble => {
    const own = trees.build(set.names);
    return base === null ? own : joined(base, own);
  };
  for (let round = 1; round <= settings.rounds; round++) {
    lambdas.compute(scores, gradients, hessians);
    const tree = grower.grow(gradients, hessians, scores);
    if (tree.features.length === 0) break;
    trees.add(tree);
    yield { round, scores, ensemble };
  }
  return ensemble();
}

/** The trees of one ensemble, then those of another one that has no categories. */
function joined({ parts: first }: TreeEnsemble, { parts: second }: TreeEnsemble): TreeEnsemble {
  const [nodes, leaves] = [first.features.length, first.leaves.length];
  const moved = (children: Int32Array): Int32Array =>
    children.map((child) => (child >= 0 ? child + nodes : child - leaves));
  return new TreeEnsemble({
    ...first,
    roots: Int32Array.of(...first.roots, ...moved(second.roots)),
    features: Uint16Array.of(...first.features, ...second.features),
    flags: Uint8Array.of(...first.flags, ...second.flags),
    thresholds: Float64Array.of(...first.thresholds, ...second.thresholds),
    lefts: Int32Array.of(...first.lefts, ...moved(second.lefts)),
    rights: Int32Array.of(...first.rights, ...moved(second.rights)),
    leaves: Float64Array.of(...first.leaves, ...second.leaves),
  });
}

/** All rounds at once. @param onProgress is told of every round. @throws RangeError */
export function trainLambdaMart(
  set: RankingSet,
  settings: LambdaMartSettings = LAMBDA_MART_DEFAULTS,
  onProgress: (round: Round) => void = () => {},
): TreeEnsemble {
  const rounds = lambdaMartRounds(set, settings);
  for (let next = rounds.next(); ; next = rounds.next()) {
    if (next.done === true) return next.value;
    onProgress(next.value);
  }
}

function checkSettings(settings: LambdaMartSettings): void {
  const { rounds, numLeaves, minDataInLeaf, truncation, lambda, learningRate, sigmoid } = settings;
  const wholes = { rounds: [rounds, 1], numLeaves: [numLeaves, 2], minDataInLeaf: [minDataInLeaf, 1] };
  for (const [name, [value, least]] of Object.entries({ ...wholes, truncation: [truncation, 1] })) {
    if (!Number.isSafeInteger(value) || value < least) {
      throw new RangeError(`${name} is a whole number of at least ${least}, not ${value}.`);
    }
  }
  if (!(lambda >= 0 && lambda < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`lambda is a number of at least 0, not ${lambda}.`);
  }
  for (const [name, value] of Object.entries({ learningRate, sigmoid })) {
    if (!(value > 0 && value < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`${name} is a number above 0, not ${value}.`);
    }
  }
}
