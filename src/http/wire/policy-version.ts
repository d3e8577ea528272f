import { z } from '@hono/zod-openapi';
import { policySettings } from './catalog.ts';
import { catalogName } from './parameters.ts';

const versionName = z
  .string()
  .regex(/^[a-z0-9-]{1,100}@\d{1,15}$/, 'has to be a version, such as sc-linucb-memory@2')
  .meta({ example: 'sc-linucb-memory@2' });

export const versionParams = z.object({ catalog: catalogName, version: versionName });
export const differencesQuery = z.strictObject({ from: versionName, to: versionName });
export const snapshotParams = z.object({
  catalog: catalogName,
  position: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
});

export const policyVersionSchema = z
  .object({
    version: z.string(),
    active: z.boolean(),
    settings: policySettings,
    learning: z
      .union([z.enum(['all', 'none']), z.object({ experiment: z.string(), variant: z.string() })])
      .meta({ description: 'From which decisions it learns.' }),
    embedder: z.string().nullable().meta({ description: 'Embedding model that it was learned with.' }),
    waits: z.boolean().meta({
      description:
        'The catalog has another embedding model: this version learns nothing. Activating it moves the catalog back.',
    }),
    experiments: z.array(z.string()),
    updates: z.number(),
    cases: z.number(),
  })
  .openapi('PolicyVersion');

const value = z.union([z.string(), z.number()]).nullable();

export const differencesSchema = z
  .object({
    from: z.string(),
    to: z.string(),
    differences: z.array(z.object({ setting: z.string(), from: value, to: value })),
  })
  .openapi('PolicyDifferences');

export const snapshotSchema = z
  .object({
    position: z.int(),
    at: z.iso.datetime(),
    version: z.string().meta({ description: 'Version of the policy that was active then.' }),
    kept: z.boolean().meta({ description: 'That version is still kept and can be restored.' }),
  })
  .openapi('Snapshot');
