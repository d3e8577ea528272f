import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../config/package-root.ts';
import { apiEndpoints, type Nouns } from './app.ts';
import { openApiDocument } from './documentation.ts';

// Endpoints touch their nouns only when they answer, and these never do.
const document = openApiDocument(apiEndpoints({} as Nouns));
writeFileSync(
  process.argv[2] ?? join(packageRoot(), 'openapi.json'),
  `${JSON.stringify(document, null, 2)}\n`,
);
