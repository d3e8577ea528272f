import { Problem } from '../errors/problem.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';

/** An operation of an HTTP API, as sources of OpenAPI documents keep it in `metadata`. */
interface Operation {
  readonly method: string;
  readonly path: string;
  /** Of the server, absent where its document does not say it. */
  readonly url?: string;
}

/** Returns what find_tools says beside the definition of a tool that came from no server. */
export function uncallable({ kind = 'tool' }: ToolDefinition) {
  return { callable: false, kind };
}

/** Returns what an agent needs to use such a tool by itself: the text of a skill and its file, the operation of an HTTP API. */
export function ownUse(tool: ToolDefinition): Record<string, unknown> {
  const { text, metadata } = tool;
  if (tool.kind === 'skill') {
    const path = metadata?.path;
    return {
      ...uncallable(tool),
      ...(typeof path === 'string' && { path }),
      ...(text !== undefined && { text }),
    };
  }
  const operation = operationOf(tool);
  return { ...uncallable(tool), ...(operation !== null && { operation }) };
}

function operationOf({ metadata = {} }: ToolDefinition): Operation | null {
  const { method, path, url } = metadata;
  if (typeof method !== 'string' || typeof path !== 'string') return null;
  return { method: method.toUpperCase(), path, ...(typeof url === 'string' && { url }) };
}

/** Says what is to be done in place of a call. */
export function notCallable(tool: ToolDefinition): Problem {
  const { name } = tool;
  if (tool.kind === 'skill') {
    const [what, where] =
      tool.text === undefined
        ? ['and its text is not kept here', 'Read it where you have it']
        : [
            'which is not called',
            `describe_tool {"name": ${JSON.stringify(name)}} answers its text: read it`,
          ];
    return new Problem(
      'validation-failed',
      `"${name}" is a skill, a text for you to follow, ${what}.`,
      `${where}, do what it says, and report with report_outcome whether it was the right one.`,
    );
  }
  const operation = operationOf(tool);
  if (operation !== null) {
    const { method, path, url } = operation;
    const server = url === undefined ? ' at the server of that API' : '';
    return new Problem(
      'validation-failed',
      `"${name}" is an operation of an HTTP API, which is not called here.`,
      `Send ${method} ${url ?? ''}${path}${server} yourself, with arguments as its inputSchema has them, and report with report_outcome what became of it.`,
    );
  }
  return new Problem(
    'validation-failed',
    `Tool "${name}" came from no server, so it cannot be called here.`,
    'Call it yourself, and report with report_outcome what became of it.',
  );
}
