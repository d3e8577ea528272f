import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ask, OutgoingError, readText } from '../../outgoing/request.ts';
import { CONFIG_FILES, SETTINGS_FILE } from '../onnx/model-settings.ts';
import { modelsFolder, pulledModelFolder } from './model-store.ts';

export interface PullOptions {
  readonly hubUrl: string;
  readonly dataDir: string;
  /** Owner and name. */
  readonly id: string;
  /** Branch, tag or commit. */
  readonly revision: string;
  /** The ONNX file to take, where the repository has several. */
  readonly file?: string;
  readonly allowPrivate: boolean;
  onProgress(file: string, bytes: number, total: number): void;
}

/** What cannot be pulled; the message says what to do. */
export class PullError extends Error {
  override readonly name = 'PullError';
}

/** A file of the repository. */
interface HubFile {
  readonly path: string;
  readonly size: number;
  readonly checksum: { readonly kind: 'sha256' | 'git-blob'; readonly hex: string };
}

const MODEL_FILES = ['onnx/model.onnx', 'model.onnx'];
const SMALL_FILES = [
  'tokenizer.json',
  'tokenizer_config.json',
  ...Object.values(CONFIG_FILES).filter((file) => file !== SETTINGS_FILE),
];
const TIMEOUT_MS = 30_000;
const MAX_LISTING_BYTES = 8 * 1024 * 1024;
const MAX_MODEL_BYTES = 2 * 1024 * 1024 * 1024;
const REDIRECTS = 5;

/**
 * Downloads the model of a repository of a Hugging Face hub into a folder of its own. Every file is checked against
 * the checksum that the hub gives; a download that broke off goes on where it stopped; the folder appears when all
 * of it is there. @returns the folder. @throws PullError @throws OutgoingError
 */
export async function pullModel(options: PullOptions): Promise<string> {
  const { dataDir, id } = options;
  const folder = pulledModelFolder(dataDir, id);
  if (folder === null || !id.includes('/')) {
    throw new PullError(
      `"${id}" is no model of a hub. Give owner and name, e.g. sentence-transformers/all-MiniLM-L6-v2.`,
    );
  }
  const { sha, files } = await listFiles(options);
  const model = chooseModel(files, options);
  const wanted: (readonly [HubFile, string])[] = [[model, 'model.onnx']];
  for (const path of SMALL_FILES) {
    const found = files.find((file) => file.path === path);
    if (found !== undefined) wanted.push([found, path]);
  }
  if (!wanted.some(([, path]) => path === 'tokenizer.json')) {
    throw new PullError(`${id} has no tokenizer.json: it cannot be used here.`);
  }
  // Of one commit, so that files of two never meet.
  const half = join(modelsFolder(dataDir), `.pull-${id.replace('/', '--')}-${sha.slice(0, 12)}`);
  await mkdir(half, { recursive: true });
  for (const [file, name] of wanted) await download(file, sha, join(half, name), options);
  await rm(folder, { recursive: true, force: true });
  await rename(half, folder);
  await removeHalves(dataDir, id);
  return folder;
}

async function listFiles({ hubUrl, id, revision, allowPrivate }: PullOptions): Promise<{
  sha: string;
  files: HubFile[];
}> {
  const address = `${rootOf(hubUrl)}/api/models/${id}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const response = await ask(address, { timeoutMs: TIMEOUT_MS, allowPrivate, redirects: REDIRECTS });
  if (response.statusCode !== 200) {
    response.destroy();
    throw new PullError(
      `${new URL(hubUrl).host} answered ${response.statusCode} for ${id} (${revision}). Is the name right, and is it public?`,
    );
  }
  const text = await readText(response, MAX_LISTING_BYTES);
  const { sha, siblings } = parseListing(text, address);
  const files = siblings.flatMap(({ rfilename, size, blobId, lfs }): HubFile[] => {
    if (typeof rfilename !== 'string' || typeof size !== 'number') return [];
    if (typeof lfs?.sha256 === 'string') {
      return [{ path: rfilename, size, checksum: { kind: 'sha256', hex: lfs.sha256 } }];
    }
    if (typeof blobId !== 'string') return [];
    return [{ path: rfilename, size, checksum: { kind: 'git-blob', hex: blobId } }];
  });
  return { sha, files };
}

function rootOf(hubUrl: string): string {
  return hubUrl.replace(/\/+$/, '');
}

interface Sibling {
  readonly rfilename?: unknown;
  readonly size?: unknown;
  readonly blobId?: unknown;
  readonly lfs?: { readonly sha256?: unknown };
}

function parseListing(text: string, address: string): { sha: string; siblings: Sibling[] } {
  try {
    const { sha, siblings } = JSON.parse(text);
    if (typeof sha === 'string' && /^[0-9a-f]{40}$/.test(sha) && Array.isArray(siblings))
      return { sha, siblings };
  } catch {
    // said below
  }
  throw new PullError(`${address} is no list of files: is the hub's address right (BANDOLIER_HUB_URL)?`);
}

function chooseModel(files: readonly HubFile[], { id, file }: PullOptions): HubFile {
  const offered = files.filter(({ path }) => path.endsWith('.onnx'));
  const names = file === undefined ? MODEL_FILES : [file];
  const model = names.map((name) => offered.find(({ path }) => path === name)).find(Boolean);
  if (model === undefined) {
    const there = offered.map(({ path }) => path).join(', ') || 'none at all';
    throw new PullError(
      `${id} has no ${names.join(' or ')}. Its ONNX files: ${there}. Choose one with --file.`,
    );
  }
  if (files.some(({ path }) => path === `${model.path}_data`) || model.size > MAX_MODEL_BYTES) {
    throw new PullError(
      `${model.path} of ${id} is too large to be run here. Choose a smaller one with --file.`,
    );
  }
  return model;
}

async function download(file: HubFile, sha: string, target: string, options: PullOptions): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  if (await hasContent(target, file)) return options.onProgress(file.path, file.size, file.size);
  const part = `${target}.part`;
  const there = await stat(part).then(
    ({ size }) => (size < file.size ? size : 0),
    () => 0,
  );
  const address = `${rootOf(options.hubUrl)}/${options.id}/resolve/${sha}/${file.path}`;
  const response = await ask(address, {
    timeoutMs: TIMEOUT_MS,
    allowPrivate: options.allowPrivate,
    redirects: REDIRECTS,
    headers: there > 0 ? { range: `bytes=${there}-` } : {},
  });
  if (response.statusCode !== 200 && response.statusCode !== 206) {
    response.destroy();
    throw new PullError(`${file.path} was answered ${response.statusCode}.`);
  }
  const resumes = response.statusCode === 206;
  let bytes = resumes ? there : 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      options.onProgress(file.path, bytes, file.size);
      done(bytes > file.size ? new PullError(`${file.path} is longer than the hub said.`) : null, chunk);
    },
  });
  // Not within the pipeline, which would throw away what arrived before the connection broke: it is kept to go on.
  let broken: unknown = null;
  response.once('error', (error) => {
    broken = error;
    count.end();
  });
  try {
    await pipeline(response.pipe(count), createWriteStream(part, { flags: resumes ? 'a' : 'w' }));
  } finally {
    response.destroy();
  }
  if (broken !== null) {
    throw new OutgoingError(
      `${file.path} broke off after ${bytes} bytes: the same command goes on there`,
      true,
      broken,
    );
  }
  if (!(await hasContent(part, file))) {
    await rm(part);
    throw new PullError(`${file.path} arrived damaged (its checksum is wrong) and was deleted. Try again.`);
  }
  await rename(part, target);
}

async function hasContent(path: string, { size, checksum }: HubFile): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (found?.size !== size) return false;
  const hash: Hash =
    checksum.kind === 'sha256' ? createHash('sha256') : createHash('sha1').update(`blob ${size}\0`);
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex') === checksum.hex;
}

/** What earlier tries of other commits left. */
async function removeHalves(dataDir: string, id: string): Promise<void> {
  const prefix = `.pull-${id.replace('/', '--')}-`;
  for (const name of await readdir(modelsFolder(dataDir))) {
    if (name.startsWith(prefix)) await rm(join(modelsFolder(dataDir), name), { recursive: true });
  }
}
