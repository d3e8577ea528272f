import { randomUUID } from 'node:crypto';

/** The caller's id if it is fit for logs and headers, else a new one. */
export function requestId(given: string | undefined): string {
  return given !== undefined && /^[\w.:/+=-]{1,128}$/.test(given) ? given : randomUUID();
}
