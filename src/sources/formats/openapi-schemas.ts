import { MAX_SCHEMA_DEPTH, MAX_SCHEMA_LENGTH } from '../../ledger/tool-definition.ts';
import { pointedAt, reduceSchema } from '../../routing/brief-schema.ts';
import type { Fields } from './tool-fields.ts';

/** Why an operation cannot become a tool. */
export class Refusal extends Error {}

/** A schema whose references lead to `$defs`, which are not in it. */
interface Part {
  readonly schema: Fields;
  /** Of it as JSON, in characters. */
  readonly length: number;
  /** Names of the `$defs` it refers to. */
  readonly uses: ReadonlySet<string>;
}

/** What the values of an object are: keywords of a schema, schemas by name, or anything. */
type Kind = 'schema' | 'schemas' | 'data';

const DATA_KEYWORDS = new Set(['example', 'examples', 'default', 'enum', 'const', 'discriminator', 'xml']);
/** Keywords that hold schemas by name: their members are no keywords. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** A YAML file of a few lines can stand for more values than there is memory for. */
const MAX_VALUES = 100_000;
const DEFINITIONS = '#/$defs/';

/**
 * The schemas of an OpenAPI document, to stand alone outside of it. Each one that is referred to is made ready once,
 * however many operations need it.
 */
export class OpenApiSchemas {
  readonly #document: Fields;
  readonly #names = new Map<string, string>();
  /** By name, as the document has them. */
  readonly #found = new Map<string, unknown>();
  readonly #whole = new Map<string, Part | Refusal>();
  readonly #brief = new Map<string, Part>();

  constructor(document: Fields) {
    this.#document = document;
  }

  /**
   * Returns the schema with everything it refers to in `$defs`; cycles stay references. If that is too long for a tool,
   * names and types are left.
   *
   * @throws Refusal
   */
  standAlone(schema: Fields): Fields {
    const root = this.#partOf(schema);
    const alone =
      this.#withDefinitions(root, (name) => this.#definition(name)) ??
      this.#withDefinitions(briefPart(root), (name) => this.#briefDefinition(name));
    if (alone !== null) return alone;
    throw new Refusal(
      `its arguments are longer than ${MAX_SCHEMA_LENGTH / 1024} KB as JSON, even without their descriptions`,
    );
  }

  /** @returns null if it is too long */
  #withDefinitions(root: Part, definition: (name: string) => Part): Fields | null {
    const names = new Set(root.uses);
    const definitions: [string, Fields][] = [];
    let length = root.length + (names.size > 0 ? ',"$defs":{}'.length : 0);
    if (length > MAX_SCHEMA_LENGTH) return null;
    // Names that are added on the way get their turn, too.
    for (const name of names) {
      const part = definition(name);
      length += part.length + `"${name}":,`.length;
      if (length > MAX_SCHEMA_LENGTH) return null;
      definitions.push([name, part.schema]);
      for (const used of part.uses) names.add(used);
    }
    return names.size === 0 ? root.schema : { ...root.schema, $defs: Object.fromEntries(definitions) };
  }

  #definition(name: string): Part {
    let part = this.#whole.get(name);
    if (part === undefined) {
      part = this.#attempt(this.#found.get(name));
      this.#whole.set(name, part);
    }
    if (part instanceof Refusal) throw part;
    return part;
  }

  #briefDefinition(name: string): Part {
    const part = this.#brief.get(name) ?? briefPart(this.#definition(name));
    this.#brief.set(name, part);
    return part;
  }

  #attempt(schema: unknown): Part | Refusal {
    try {
      return this.#partOf(schema);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }

  #partOf(given: unknown): Part {
    const uses = new Set<string>();
    let values = 0;
    const rewritten = (value: unknown, kind: Kind, levels: number): unknown => {
      if (++values > MAX_VALUES) throw new Refusal(`one of its schemas has more than ${MAX_VALUES} values`);
      if (typeof value !== 'object' || value === null) return value;
      if (levels === 0)
        throw new Refusal(`one of its schemas is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
      if (Array.isArray(value)) return value.map((item) => rewritten(item, kind, levels - 1));
      const entries = Object.entries(value).map(([key, member]) => {
        // A property may be called $ref, and examples may hold anything.
        if (kind !== 'schema' || key !== '$ref' || typeof member !== 'string')
          return [key, rewritten(member, kindOf(kind, key), levels - 1)];
        const name = this.#nameOf(member);
        uses.add(name);
        return [key, DEFINITIONS + name];
      });
      return Object.fromEntries(entries);
    };
    const schema = rewritten(given, 'schema', MAX_SCHEMA_DEPTH) as Fields;
    return { schema, length: JSON.stringify(schema).length, uses };
  }

  /** @throws Refusal */
  #nameOf(reference: string): string {
    const known = this.#names.get(reference);
    if (known !== undefined) return known;
    const found = targetOf(this.#document, reference);
    const last = reference.slice(reference.lastIndexOf('/') + 1).replace(/[^\w.-]+/g, '_');
    let name = last;
    for (let n = 2; this.#found.has(name); n++) name = `${last}_${n}`;
    this.#names.set(reference, name);
    this.#found.set(name, found);
    return name;
  }
}

function kindOf(outer: Kind, key: string): Kind {
  if (outer === 'data') return 'data';
  if (outer === 'schemas') return 'schema';
  if (DATA_KEYWORDS.has(key)) return 'data';
  return MAPS.has(key) ? 'schemas' : 'schema';
}

function briefPart({ schema: whole }: Part): Part {
  const { schema, references } = reduceSchema(whole);
  const uses = new Set(references.map((reference) => reference.slice(DEFINITIONS.length)));
  return { schema: schema as Fields, length: JSON.stringify(schema).length, uses };
}

/** Returns what a reference leads to. @throws Refusal if it leads nowhere, or to another document */
export function targetOf(document: Fields, reference: string): unknown {
  if (!reference.startsWith('#/')) {
    throw new Refusal(
      `it refers to "${reference.slice(0, 200)}", which is outside of this document: bundle the document first`,
    );
  }
  const found = pointedAt(document, decoded(reference));
  if (found === undefined) throw new Refusal(`it refers to "${reference.slice(0, 200)}", which is not there`);
  return found;
}

/** Pointers in a URI fragment are percent-encoded. */
function decoded(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}
