import type { ChosenContext, QueryFeatures } from './policy.ts';
import type { SparseVector } from './sparse-vector.ts';

/** The query of several examples: what the parts of a policy derive from it to learn is computed once for all of them. */
export class SharedQuery implements QueryFeatures {
  readonly embedding: Float32Array | null;
  readonly terms: SparseVector;
  readonly context: ChosenContext | undefined;
  readonly #forms = new Map<object, unknown>();

  constructor({ embedding, terms, context }: QueryFeatures) {
    this.embedding = embedding;
    this.terms = terms;
    this.context = context;
  }

  /** Returns what `part` derives from this query; it depends on nothing else that may change. */
  form<Form>(part: object, derive: () => Form): Form {
    const known = this.#forms.get(part) as Form | undefined;
    if (known !== undefined) return known;
    const form = derive();
    this.#forms.set(part, form);
    return form;
  }
}

/** Returns what `part` derives from a query, which may be one that is shared. */
export function formOf<Form>(query: QueryFeatures, part: object, derive: () => Form): Form {
  return query instanceof SharedQuery ? query.form(part, derive) : derive();
}
