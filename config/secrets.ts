/** Variables that requests over HTTP may refer to begin with this, so that none can ask for another secret of the process. */
export const SECRET_PREFIX = 'BANDOLIER_SECRET_';

/** Reads a variable of the environment when it is used; its value is kept nowhere. */
export function readVariable(name: string): string | undefined {
  return process.env[name];
}
