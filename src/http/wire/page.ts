import { z } from '@hono/zod-openapi';

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
