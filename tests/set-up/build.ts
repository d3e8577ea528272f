import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Compiles dist/ once per run. Type errors are the business of `npm run types`; here only the output counts. */
export function setup(): void {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: root,
    encoding: 'utf8',
  });
  const wasWritten = status === 0 || status === 2;
  if (!wasWritten) throw new Error(`npm run build failed:\n${stdout}${stderr}`);
  if (status === 2) process.stderr.write('dist/ was built in spite of type errors; see `npm run types`.\n');
}
