import { z } from '@hono/zod-openapi';

const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'has to be 1 to 255 printable ASCII characters without blanks')
  .optional()
  .meta({ description: 'The same key again gets the first answer again and changes nothing.' });

/** `"r42"`, as it came in `ETag`; quotes may be left out. */
const ifMatch = z
  .string()
  .regex(/^("[\x21\x23-\x7e]+"|[\x21\x23-\x7e]+)$/, 'has to be one revision, as it came in `ETag`')
  .refine((value) => !value.startsWith('W/') && value !== '*', 'has to be one revision, as it came in `ETag`')
  .transform((value) => value.replace(/^"(.*)"$/, '$1'))
  .optional()
  .meta({ description: 'Change only if the catalog still has this revision, else 412.' });

export const idempotencyHeaders = z.object({ 'idempotency-key': idempotencyKey });

export const changeHeaders = z.object({ 'idempotency-key': idempotencyKey, 'if-match': ifMatch });

/** The conditions of a change, as the nouns take them. */
export function conditionsOf(headers: z.output<typeof changeHeaders>): {
  idempotencyKey?: string;
  ifMatch?: string;
} {
  return {
    ...(headers['idempotency-key'] !== undefined && { idempotencyKey: headers['idempotency-key'] }),
    ...(headers['if-match'] !== undefined && { ifMatch: headers['if-match'] }),
  };
}

export function etag(revision: string): Record<string, string> {
  return { etag: `"${revision}"` };
}
