import { SegmentLog } from '../../src/storage/segment-log.ts';

/** All records of a log as text. */
export async function contentsOf(log: SegmentLog): Promise<string[]> {
  const contents: string[] = [];
  for (let after = log.first - 1; after < log.last; ) {
    for (const { sequence, bytes } of await log.read(after, 100)) {
      contents.push(Buffer.from(bytes).toString());
      after = sequence;
    }
  }
  return contents;
}

/** Opens the log in a folder, reads it whole and closes it. */
export async function contentsIn(folder: string): Promise<string[]> {
  const log = await SegmentLog.open(folder);
  try {
    return await contentsOf(log);
  } finally {
    await log.close();
  }
}

export function records(...texts: string[]): Buffer[] {
  return texts.map((text) => Buffer.from(text));
}
