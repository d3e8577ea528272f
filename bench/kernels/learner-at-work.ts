import { Matrix } from 'ml-matrix';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { randomFor } from '../../bandit/random.ts';
import { SemanticRidge, type SemanticRow } from '../../bandit/ridge/semantic-ridge.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';

export const DIMENSIONS = 256;
export const EXTRAS = 6;
/** d = 2·256 + 8. */
export const SIZE = 2 * DIMENSIONS + 2 + EXTRAS;
export const LAMBDA = 10;
const TOOLS = 1000;
const CLUSTERS = 40;
/** How far embeddings lie from the middle of their cluster: cosines within one of about .7. */
const SPREAD = 0.65;

/** A catalog and a stream of examples like those of a router: clustered unit vectors, features in 0…1. Seeded. */
export class Stream {
  readonly tools: readonly Float32Array[];
  readonly #centres: readonly Float64Array[];
  readonly #random = randomFor('bench/kernels');
  #counter = 0;

  constructor() {
    this.#centres = Array.from({ length: CLUSTERS }, () => this.#direction());
    this.tools = Array.from({ length: TOOLS }, () => this.unit());
  }

  uniform(): number {
    return this.#random.uniform(this.#counter++);
  }

  unit(): Float32Array {
    const centre = this.#centres[Math.floor(this.uniform() * CLUSTERS)];
    const values = this.#direction().map((value, i) => centre[i] + SPREAD * value);
    const norm = Math.hypot(...values);
    return Float32Array.from(values, (value) => value / norm);
  }

  example(embedding = this.unit(), slot = Math.floor(this.uniform() * TOOLS)): SemanticRow {
    const similarity = this.tools[slot].reduce((sum, value, i) => sum + value * embedding[i], 0);
    const extras = Float32Array.from({ length: EXTRAS }, () => this.uniform());
    return { embedding, slot, similarity, extras };
  }

  row({ embedding, slot, similarity, extras }: SemanticRow): number[] {
    return [...(embedding as Float32Array), ...this.tools[slot], similarity, 1, ...extras];
  }

  /** One query and different tools. */
  candidates(count: number): SemanticRow[] {
    const embedding = this.unit();
    const first = Math.floor(this.uniform() * TOOLS);
    return Array.from({ length: count }, (_, i) => this.example(embedding, (first + i) % TOOLS));
  }

  #direction(): Float64Array {
    const values = Float64Array.from({ length: DIMENSIONS }, () => {
      const radius = Math.sqrt(-2 * Math.log(this.uniform()));
      return radius * Math.cos(2 * Math.PI * this.uniform());
    });
    const norm = Math.hypot(...values);
    return values.map((value) => value / norm);
  }
}

/** What the router does with the learner; n candidates are prepared before the clock runs. */
export interface Contender {
  readonly name: string;
  /** Learns one example: A⁻¹ follows. Ours also keeps A, b and θ. */
  update(example: SemanticRow): void;
  /** Mean and variance (ours: and its root) of every candidate. */
  scorer(candidates: readonly SemanticRow[]): () => void;
}

export function ours(kernels: Kernels, stream: Stream): Contender & { readonly ridge: SemanticRidge } {
  const vectors = new ToolVectors(kernels, DIMENSIONS);
  for (const [slot, vector] of stream.tools.entries()) vectors.put(slot, vector);
  const ridge = new SemanticRidge({ kernels, vectors, extras: EXTRAS, lambda: LAMBDA });
  return {
    name: kernels.name,
    ridge,
    update: (example) => ridge.learn(example, 1, 1),
    scorer: (candidates) => {
      const slots = Int32Array.from(candidates, ({ slot }) => slot);
      const similarity = Float64Array.from(candidates, (each) => each.similarity);
      const extras = Float32Array.from(candidates.flatMap((each) => [...each.extras]));
      const { embedding } = candidates[0];
      return () => {
        ridge.score(embedding, slots, similarity, extras);
      };
    },
  };
}

/** The same with ml-matrix, written as one would: one product for all candidates, Sherman–Morrison by `mmul`. */
export function mlMatrix(stream: Stream): Contender {
  const inverse = Matrix.eye(SIZE, SIZE).div(LAMBDA);
  const theta = Matrix.zeros(SIZE, 1);
  return {
    name: 'ml-matrix',
    update: (example) => {
      const x = Matrix.columnVector(stream.row(example));
      const u = inverse.mmul(x);
      const denominator = 1 + x.dot(u);
      const error = 1 - x.dot(theta);
      inverse.sub(u.mmul(u.transpose()).div(denominator));
      theta.add(u.mul(error / denominator));
    },
    scorer: (candidates) => {
      const rows = new Matrix(candidates.map((each) => stream.row(each)));
      return () => {
        rows.mmul(theta);
        Matrix.mul(rows.mmul(inverse), rows).sum('row');
      };
    },
  };
}
