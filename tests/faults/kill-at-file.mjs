// Preloaded into a process under test: it is killed just before the file operation KILL_BEFORE (from 0) on what users have.
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const killBefore = Number(process.env.KILL_BEFORE);
const CONCERNED = /[\\/](keys[\\/]catalogs|context)[\\/]/;
let operations = 0;
/** From the moment at which an erasure is written down. */
let hasBegun = false;

for (const name of ['rename', 'rm', 'open']) {
  const original = promises[name];
  promises[name] = async (file, ...rest) => {
    const changes = name !== 'open' || rest[0] === 'r+';
    hasBegun ||= name === 'rename' && /[\\/]erasing[\\/]/.test(file);
    if (hasBegun && changes && CONCERNED.test(file) && operations++ === killBefore) {
      process.kill(process.pid, 'SIGKILL');
      await new Promise(() => {});
    }
    return original(file, ...rest);
  };
}
syncBuiltinESMExports();
