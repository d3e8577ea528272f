/** Source of the tools that are put over the HTTP API, from the command line and in simulations. */
export const API_SOURCE = 'api';

/** How deep the input schema of a tool may be nested, and how long it may be as JSON, in characters. */
export const MAX_SCHEMA_DEPTH = 64;
export const MAX_SCHEMA_LENGTH = 64 * 1024;

/** How long the text of a skill may be, in characters. */
export const MAX_SKILL_TEXT = 64 * 1024;

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * A tool as users put it. Fixed wire shape: a tool as an MCP server lists it (revision 2026-07-28), and what only this service
 * reads of it (`OwnMembers`). Members that neither knows are kept as they are and given back; they are not named in this type.
 */
export interface ToolDefinition extends OwnMembers {
  readonly name: string;
  /** What people read in place of the name. */
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  /** Hints of the server about what a call does: `readOnlyHint`, `destructiveHint` and others. */
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
  /** How it may be called, such as whether as a task. */
  readonly execution?: JsonObject;
  readonly _meta?: JsonObject;
}

/** What no MCP list has: an agent does not get it in a definition. */
interface OwnMembers {
  /** A skill is text that an agent reads, and not called. Absent: a tool. */
  readonly kind?: ToolKind;
  /** Of a skill: what an agent reads, at most `MAX_SKILL_TEXT` characters. */
  readonly text?: string;
  readonly server?: string;
  readonly tags?: readonly string[];
  /** Queries that the tool is right for. */
  readonly examples?: readonly string[];
  /** What has to be so before it is called. */
  readonly preconditions?: readonly string[];
  /** What is so after it was called. */
  readonly postconditions?: readonly string[];
  /** In which ways it fails, and what to do then. */
  readonly failureModes?: readonly string[];
  /** Calls that were right, to be shown to a model. */
  readonly exemplars?: readonly ToolExemplar[];
  /** Queries that the tool is not right for, though they sound like it. Nothing is searched in them. */
  readonly negativeExamples?: readonly string[];
  /** Names under which this tool was known before: what was learned about them moves here. */
  readonly replaces?: readonly string[];
  readonly metadata?: JsonObject;
}

/** A query, and the call that answers it. */
export interface ToolExemplar {
  readonly query: string;
  readonly arguments: JsonObject;
  /** What came of it, where that helps. */
  readonly result?: string;
}

export const TOOL_KINDS = ['tool', 'skill'] as const;
export type ToolKind = (typeof TOOL_KINDS)[number];

/** Returns the tool as an MCP server would list it, with members that are not known here. */
export function listedTool(tool: ToolDefinition): Omit<ToolDefinition, keyof OwnMembers> {
  const {
    kind: _,
    text: _x,
    server: _s,
    tags: _t,
    examples: _e,
    preconditions: _pre,
    postconditions: _post,
    failureModes: _f,
    exemplars: _ex,
    negativeExamples: _n,
    replaces: _r,
    metadata: _m,
    ...listed
  } = tool;
  return listed;
}
