/** Where a source's tools are, how they are named, and when they are read again. Secrets stand in it as `${NAME}` alone. */
export type SourceDefinition = SourcePlace & {
  /** Before the name of every tool. */
  readonly prefix?: string;
  /** What becomes of a changed definition: served at once, or held back until somebody approves it. */
  readonly onChange: 'serve' | 'quarantine';
  /** Seconds between two syncs; null: it is read when somebody asks for it, or when its server says that its list changed. */
  readonly refreshSeconds: number | null;
};

export type SourceKind = 'mcp' | 'openapi' | 'file' | 'skills';

export type SourcePlace =
  | ({ readonly kind: 'mcp' } & McpServer)
  | ({ readonly kind: 'openapi' | 'file' } & (Remote | Local))
  | ({ readonly kind: 'skills' } & Local);

/** An MCP server: a program, an address, or an entry in the configuration that `bandolier mcp` was started with. */
export type McpServer = ServerProgram | Remote | { readonly configured: true };

export interface ServerProgram {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface Remote {
  /** http or https. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Local {
  /** Of a file or a folder on the machine of the service. */
  readonly path: string;
}

/** What a sync found beside the tools. */
export interface SyncReport {
  /** When it began, ms since the epoch: what was changed at the source before is in it. */
  readonly startedAt: number;
  /** How long the source says that its list holds, ms. */
  readonly ttlMs?: number;
  /** Tools that no catalog takes, and why: the first hundred, with long names and reasons cut. */
  readonly leftOut: readonly { readonly name: string; readonly why: string }[];
  readonly leftOutCount: number;
}

/** A source is put, removed, or was read without a change of its tools. Syncs that change tools are `tools` entries. */
export type SourceChange =
  | { readonly action: 'put'; readonly definition: SourceDefinition }
  /** `keepTools`: they stay, as if they had been put over the API. */
  | { readonly action: 'remove'; readonly keepTools: boolean }
  | ({ readonly action: 'unchanged'; readonly generation: number } & SyncReport)
  | {
      readonly action: 'failed';
      readonly generation: number;
      readonly startedAt: number;
      readonly error: string;
    };
