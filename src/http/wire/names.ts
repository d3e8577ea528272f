import { z } from '@hono/zod-openapi';

/** Any script, but no control characters and no halves of characters (lone surrogates). */
const printable = (text: string) => !/[\p{Cc}\p{Cs}]/u.test(text);

export const catalogName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'has to be 1 to 63 of a–z, 0–9 and -, and must not begin with -')
  .meta({ description: 'Name of the catalog.', example: 'default' });

export const toolName = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'must not be longer than 256 characters')
  .refine(printable, 'must not contain control characters')
  .refine((name) => name.trim() === name, 'must not begin or end with a blank')
  .meta({ description: 'Name of the tool, unique in its catalog.', example: 'refund_payment' });

/** `<catalog>.<id>`. */
export const decisionId = z
  .string()
  .min(1, 'must not be empty')
  .max(200, 'must not be longer than 200 characters')
  .refine(printable, 'must not contain control characters')
  .meta({
    description: 'Id of the decision, as `POST /v1/route` answered it.',
    example: 'default.0k3v9q2m7x',
  });

/** `<decisionId>.<n>`. */
export const rewardId = z
  .string()
  .min(1, 'must not be empty')
  .max(220, 'must not be longer than 220 characters')
  .refine(printable, 'must not contain control characters')
  .meta({ description: 'Id of the reward, as it was answered 202.', example: 'default.0k3v9q2m7x.1' });

/** Ids that belong to the caller: sessions, units, users. */
export const callersId = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'must not be longer than 256 characters')
  .refine(printable, 'must not contain control characters');

export const isoTime = z.iso.datetime({
  offset: true,
  error: 'has to be an ISO time with its zone, such as 2026-12-01T06:00:00Z',
});
