import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--allow-natives-syntax');
const hasFast: (one: object) => boolean = runInNewContext('(one) => %HasFastProperties(one)');

/**
 * Returns whether V8 reads the properties of an object by their places. It does not where an object literal has a getter, and
 * puts the accessor, and with it all that this can reach, among what stays until the next collection of the whole heap.
 */
export function hasFastProperties(one: object): boolean {
  return hasFast(one);
}
