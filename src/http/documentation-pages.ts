import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Hono } from 'hono';

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Bandolier API</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#swagger-ui', deepLinking: true, displayRequestDuration: true });
`;

/** Files of swagger-ui-dist that the page needs, with their media types. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

/** Swagger UI sets inline styles; scripts come from here alone, and nothing is sent anywhere else. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** /openapi.json and /docs, from files on this machine: they work without a network. */
export function mountDocumentation(app: Hono, document: () => unknown): void {
  app.get('/openapi.json', (context) => {
    return context.body(JSON.stringify(document()), 200, { 'content-type': 'application/json' });
  });
  app.get('/docs', (context) =>
    context.html(PAGE, 200, { 'content-security-policy': CONTENT_SECURITY_POLICY }),
  );
  app.get('/docs/start.js', (context) => context.body(START, 200, { 'content-type': 'text/javascript' }));
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  for (const [file, mediaType] of Object.entries(ASSETS)) {
    app.get(`/docs/${file}`, async (context) => {
      const headers = { 'content-type': mediaType, 'cache-control': 'public, max-age=86400' };
      return context.body(new Uint8Array(await readFile(join(folder, file))), 200, headers);
    });
  }
}
