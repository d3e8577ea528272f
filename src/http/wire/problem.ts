import { z } from '@hono/zod-openapi';

export const problemSchema = z
  .object({
    type: z.string().meta({ example: 'urn:bandolier:problem:decision-not-found' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'What is wrong, in one sentence.' }),
    code: z.string().meta({ description: 'The name of the problem: what programs decide on.' }),
    suggestedFix: z.string().meta({ description: 'What to do about it.' }),
    requestId: z.string().meta({ description: 'Under which the log has the details.' }),
    violations: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .meta({ description: 'Everything that is wrong with the input, each with its place.' }),
  })
  .openapi('Problem');
