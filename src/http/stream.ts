import type { Ticket } from './admission.ts';

/** Lines of JSON, one for each item; or server-sent events, each of them a `StreamEvent`. */
export type StreamFormat = 'lines' | 'events';

export interface StreamEvent {
  /** Its type; clients call it `message` if there is none. */
  readonly event?: string;
  /** Sent back by a client that connects again, in the header `Last-Event-ID`. */
  readonly id?: string;
  /** Sent as JSON. */
  readonly data: unknown;
}

export const STREAM_MEDIA_TYPES: Readonly<Record<StreamFormat, string>> = {
  lines: 'application/x-ndjson',
  events: 'text/event-stream',
};

interface StreamOptions {
  /** Of the request; none where there is no server. */
  readonly ticket: Ticket | undefined;
  /** Receives what the items throw. The client sees that the answer breaks off: its status was sent before. */
  onError(error: unknown): void;
}

/**
 * Sends items as the client reads them: the next one is asked for when there is room for it. Lines hold a slot of admission
 * while the next one is made, and none while the client is slow; events hold none, since they mostly wait. If the client
 * hangs up, the iterator is asked to return; to end in the middle of an item it has to watch the signal of its request.
 */
export function streamOf(
  items: AsyncIterable<unknown>,
  format: StreamFormat,
  { ticket, onError }: StreamOptions,
): ReadableStream<Uint8Array> {
  const iterator = items[Symbol.asyncIterator]();
  const encode = ENCODERS[format];
  let isCancelled = false;
  ticket?.pause();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    if (format === 'lines') ticket?.resume();
    try {
      const { done, value } = await iterator.next();
      if (isCancelled) return;
      if (done) controller.close();
      else controller.enqueue(encode(value));
    } catch (error) {
      if (isCancelled) return;
      onError(error);
      controller.error(error);
    } finally {
      ticket?.pause();
    }
  };
  const cancel = async (): Promise<void> => {
    isCancelled = true;
    await iterator.return?.();
  };
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
}

const text = new TextEncoder();

const ENCODERS: Readonly<Record<StreamFormat, (item: unknown) => Uint8Array>> = {
  lines: (item) => text.encode(`${JSON.stringify(item)}\n`),
  events: (item) => {
    const { event, id, data } = item as StreamEvent;
    const fields = { ...(event !== undefined && { event }), ...(id !== undefined && { id }) };
    const lines = Object.entries({ ...fields, data: JSON.stringify(data) }).map(
      ([name, value]) => `${name}: ${value}\n`,
    );
    return text.encode(`${lines.join('')}\n`);
  },
};
