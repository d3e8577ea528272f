import { z } from '@hono/zod-openapi';

export const forgottenSchema = z
  .object({
    forgotten: z.int().meta({ description: 'Tools or remembered cases, over all versions of the policy.' }),
  })
  .openapi('Forgotten');
