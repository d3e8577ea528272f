import { z } from 'zod';
import type { Label } from '../simulation/prepare.ts';
import { UserError } from './user-error.ts';

const label = z.object({ query: z.string().min(1), relevant: z.array(z.string()).min(1) });

/**
 * Labelled queries, one JSON object per line: `{"query": "…", "relevant": ["tool", …]}`; other fields are ignored.
 * @throws UserError naming the line.
 */
export function readLabels(text: string, file: string): Label[] {
  const lines = text.split('\n');
  const labels: Label[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const { success, data } = label.safeParse(jsonOf(line));
    if (!success) {
      throw new UserError(
        `${file}, line ${index + 1}: expected {"query": "…", "relevant": ["name of a tool", …]}.`,
      );
    }
    labels.push(data);
  }
  if (labels.length === 0) throw new UserError(`${file} holds no queries.`);
  return labels;
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
