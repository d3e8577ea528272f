import { OutgoingError } from '../../outgoing/request.ts';

/**
 * Reads the answer of an OpenAI-compatible `/embeddings`: unit vectors in the order of the texts, or all zero.
 * @param dimensions what every vector must have; null: the same number each.
 * @throws OutgoingError that says what is wrong with it; none of it is used then.
 */
export function readEmbeddings(body: string, count: number, dimensions: number | null): Float32Array[] {
  const { data } = parse(body) as { data?: unknown };
  if (!Array.isArray(data)) throw fault('its answer has no list "data"');
  if (data.length !== count) throw fault(`it gave ${data.length} embeddings for ${count} texts`);
  const vectors: (Float32Array | undefined)[] = new Array(count).fill(undefined);
  for (const [place, item] of data.entries()) {
    const index = item?.index ?? place;
    if (!Number.isInteger(index) || index < 0 || index >= count || vectors[index] !== undefined) {
      throw fault('the embeddings in its answer are not numbered from 0 on');
    }
    vectors[index] = unitVector(item?.embedding, dimensions ?? vectors.find(Boolean)?.length ?? null);
  }
  return vectors as Float32Array[];
}

function parse(body: string): object {
  if (body.trim() === '') throw fault('its answer is empty');
  try {
    const json: unknown = JSON.parse(body);
    if (typeof json === 'object' && json !== null) return json;
  } catch {
    // said below
  }
  const looksLikePage = /^\s*</.test(body);
  throw fault(looksLikePage ? 'it answered with a web page' : 'its answer is not JSON');
}

function unitVector(values: unknown, dimensions: number | null): Float32Array {
  if (!Array.isArray(values) || values.length === 0)
    throw fault('an embedding in its answer is no list of numbers');
  if (dimensions !== null && values.length !== dimensions) {
    throw fault(`it gave ${values.length} dimensions instead of ${dimensions}`);
  }
  if (!values.every((value) => typeof value === 'number' && Number.isFinite(value))) {
    throw fault('an embedding in its answer has something in it that is no number');
  }
  const length = Math.hypot(...values);
  if (!Number.isFinite(length)) throw fault('an embedding in its answer is longer than any number');
  return Float32Array.from(values, (value) => (length > 0 ? value / length : 0));
}

function fault(message: string): OutgoingError {
  return new OutgoingError(message, false);
}
