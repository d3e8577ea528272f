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
  // URLs are cleared of them, even if they are percent-encoded.
  .refine((name) => name !== '.' && name !== '..', 'must not be . or .., which no URL can name')
  .meta({ description: 'Name of the tool, unique in its catalog.', example: 'refund_payment' });

export const providerNameSchema = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/)
  .meta({
    description:
      'The name of the tool in the definitions for OpenAI and Anthropic, which refuse names such as `mail.search`. It is taken wherever the name is.',
    example: 'mail_search-x3w5e11264s',
  });

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

export const taskId = callersId
  // URLs are cleared of them, even if they are percent-encoded.
  .refine((id) => id !== '.' && id !== '..', 'must not be . or .., which no URL can name')
  .meta({ description: 'Id of a task, chosen by the caller: unique to it.', example: 'turn-4711' });

export const isoTime = z.iso
  .datetime({
    offset: true,
    error: 'has to be an ISO time with its zone, such as 2026-12-01T06:00:00Z',
  })
  .refine(isFourDigitYear, 'has to lie between the years 0000 and 9999 in UTC');

/** Others are written with a sign and six digits, which are not taken back. */
function isFourDigitYear(time: string): boolean {
  const year = new Date(time).getUTCFullYear();
  return !(year < 0 || year > 9999);
}

/** Query parameters of every list. */
export const pageQuery = z.strictObject({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(100)
    .meta({ description: 'How many at most; fewer when they are long.' }),
  cursor: z
    .string()
    .regex(/^[\w-]{1,2048}$/, 'has to be the `nextCursor` of the page before')
    .optional()
    .meta({ description: '`nextCursor` of the page before.' }),
});

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

type Named<Member extends string> = Readonly<Record<Member, string>>;

/** Refuses a list in which two have the same name, or the same id. */
export const eachOnce = <Member extends string>(member: Member) => {
  return (all: readonly Named<Member>[], context: z.RefinementCtx): void => {
    const first = new Map<string, number>();
    for (const [index, { [member]: name }] of all.entries()) {
      const earlier = first.get(name);
      if (earlier === undefined) first.set(name, index);
      else {
        const message = `is the same as the ${member} of number ${earlier}`;
        context.addIssue({ code: 'custom', path: [index, member], message });
      }
    }
  };
};

/** Refuses a change that puts and removes the same. */
export const putOrRemoved = <Member extends string>(member: Member) => {
  type Change = { put?: readonly Named<Member>[]; remove?: readonly string[] };
  return ({ put = [], remove = [] }: Change, context: z.RefinementCtx): void => {
    const names = new Set(put.map((one) => one[member]));
    for (const [index, name] of remove.entries()) {
      if (!names.has(name)) continue;
      context.addIssue({ code: 'custom', path: ['remove', index], message: 'is in `put` as well' });
    }
  };
};
