import { z } from '@hono/zod-openapi';
import { MOST_UTC_OFFSET_MINUTES } from '../../context/user-signals.ts';
import { ASSEMBLIES, SLATE_FORMATS } from '../../decisions/decision.ts';
import { DETAIL_LEVELS, SLATE_METHODS } from '../../ledger/catalog-settings.ts';
import { MAX_INCLUDED } from '../../ledger/instruction-definition.ts';
import { countsTokens, DEFAULT_MAX_CONTEXT, DEFAULT_MAX_INSTRUCTIONS } from '../../routing/route-request.ts';
import { BRIEF_DESCRIPTION } from '../../routing/slate-definition.ts';
import { callersId, catalogName, taskId, toolName } from './parameters.ts';

/** Longer queries would be cut by the embedder anyway. */
export const MAX_QUERY_LENGTH = 32_768;
const MAX_NAMED_TOOLS = 200;
const MAX_CONTEXT = 20;
/** More than any language model reads. */
const MAX_TOKEN_BUDGET = 10_000_000;
export const tokenBudget = z
  .int()
  .min(1, 'must be at least 1: leave it out for no limit')
  .max(MAX_TOKEN_BUDGET, `must not be more than ${MAX_TOKEN_BUDGET}: leave it out for no limit`)
  .optional();

const namedTools = z.array(toolName).max(MAX_NAMED_TOOLS, `must not name more than ${MAX_NAMED_TOOLS} tools`);

/** What a message says is read where the query is understood; of what is not known there, nothing is. */
const messageSchema = z
  .looseObject({ role: z.string().optional(), type: z.string().optional() })
  .refine(({ role, type }) => role !== undefined || type !== undefined, {
    path: ['role'],
    message: "is needed, or `type` in an item of OpenAI's Responses",
  });

export const routeRequestSchema = z
  .strictObject({
    query: z
      .string()
      .max(MAX_QUERY_LENGTH, `must not be longer than ${MAX_QUERY_LENGTH} characters`)
      .refine((query) => /[^\s\p{C}]/u.test(query), 'must say what is wanted: it is empty')
      .optional()
      .meta({
        description: 'What the user wants. Either this or `messages`.',
        example: 'I want my money back',
      }),
    messages: z.array(messageSchema).min(1).max(2000).optional().meta({
      description:
        "A conversation: messages of OpenAI's Chat Completions, items of OpenAI's Responses, or messages of Anthropic. The query is its last user turn with what that needs from before. Every element has a `role` or a `type`; what is not known is ignored.",
    }),
    catalog: catalogName.default('default'),
    sessionId: callersId.optional().meta({ description: 'Conversation that the query belongs to.' }),
    unitId: callersId.optional().meta({ description: 'What experiments assign and limits count by.' }),
    userId: callersId.optional().meta({
      description:
        'The user who asks. Limits and erasure go by it, else by `unitId`, else by `sessionId`. What the user has is looked through for what the query needs.',
    }),
    task: taskId.optional().meta({
      description:
        'The user turn or job that this query is a step of. Its decisions share outcomes: report them as `{task, tool, outcome}`, and end it with `POST /v1/tasks/{task}/end`. It belongs to the catalog and to `userId`, else `unitId`.',
    }),
    context: z
      .record(z.string().max(64), z.union([z.string().max(256), z.number(), z.boolean()]))
      .refine((context) => Object.keys(context).length <= 50, 'must not have more than 50 members')
      .optional()
      .meta({
        description:
          'Attributes of the request that experiments may be limited to. In an answer `context` holds items of the user, in a report their ids.',
      }),
    k: z.int().min(1).max(50).default(5).meta({ description: 'How many tools.' }),
    pin: namedTools.optional().meta({ description: 'Tools that must be in the slate.' }),
    exclude: namedTools.optional().meta({ description: 'Tools that must not be in it.' }),
    format: z.enum(SLATE_FORMATS).default('mcp').meta({
      description:
        "Shape of the definitions. `mcp`: as the server lists the tool. `openai`: Chat Completions. `openai-responses`: Responses. `openai-tool-search-output`: what answers a `tool_search_call` of Responses. `anthropic`: Messages. `anthropic-tool-reference`: what a search tool of one's own answers. `anthropic-tool-addition`: tools added in mid-conversation, by value. `names`: there are none, only the names of the tools.",
    }),
    detail: z
      .enum(DETAIL_LEVELS)
      .optional()
      .meta({
        description: `How much of each definition the answer has. \`names\`: the name, and a schema that takes any arguments. \`brief\`: the first sentences of the description, ${BRIEF_DESCRIPTION} characters at most, and the names and types of the parameters. \`full\`: all of it. Absent: what a variant of an experiment says, else the catalog. A request that says it takes no part in experiments that compare levels.`,
      }),
    slate: z.enum(SLATE_METHODS).optional().meta({
      description:
        'Who chooses the tools. `policy`: the policy, from what it has learned. `toolscope`: the retriever of ToolScope, the best tool for each sub-query first, then by scores brought to 0 … 1 within each sub-query; nothing is drawn, and outcomes teach the policy all the same. Absent: what the catalog says. Where it is `toolscope`, requests take part in no experiment.',
    }),
    activate: z
      .enum(['now', 'later'])
      .default('now')
      .meta({ description: '`later`: rewards count once POST …/activate said that the slate was shown.' }),
    explore: z.boolean().default(true).meta({ description: 'false: rank greedily. It still teaches.' }),
    learn: z
      .boolean()
      .default(true)
      .meta({ description: 'false: outcomes are counted, nothing is learned.' }),
    rating: z.number().min(0).max(1).optional().meta({
      description:
        'How far the model that asks says that what it had before suffices, 0 … 1: it counts in `sufficiency` as far as such ratings have come true.',
    }),
    tokenBudget: tokenBudget.meta({
      description:
        'Most tokens that all that is served may take: tools, instructions and safety overlay, what is carried along included; where that leaves no room, the prompt starts anew. Absent: no limit.',
      example: 1500,
    }),
    instructions: z.boolean().optional().meta({
      description:
        'true: also the instructions that are worth carrying, and always all approved safety instructions.',
    }),
    maxInstructions: z
      .int()
      .min(0)
      .max(50)
      .optional()
      .meta({
        description: `How many instructions are chosen beside the safety overlay; absent: ${DEFAULT_MAX_INSTRUCTIONS}. What they include comes with them and is not counted here, though its tokens are: at most ${MAX_INCLUDED} more for each.`,
      }),
    assembly: z.enum(ASSEMBLIES).optional().meta({
      description:
        'What becomes of what was served before, where there is a token budget or instructions are wanted. `append`: what was served in the session or task stays where it is, and new things come after, so that a prompt cache keeps its worth. `prompt`: a system prompt, made anew. `parts`: instructions and tools, anew. Absent: `append` where the request names a session or a task, else `parts`.',
    }),
    maxContext: z
      .int()
      .min(0)
      .max(MAX_CONTEXT)
      .optional()
      .meta({
        description: `How many items of what the user has (\`PUT …/users/{user}/context\`) are chosen at most; absent: ${DEFAULT_MAX_CONTEXT}, and without \`userId\` none.`,
      }),
    place: z.string().min(1).max(100).optional().meta({
      description:
        'Where the user is, in words of your own, the same ones each time: what is used there is found there.',
      example: 'home',
    }),
    utcOffsetMinutes: z.int().min(-MOST_UTC_OFFSET_MINUTES).max(MOST_UTC_OFFSET_MINUTES).optional().meta({
      description:
        "How far the user's clock is ahead of UTC: habits are read by its hours and weekdays. Absent: UTC.",
      example: 60,
    }),
  })
  .refine((request) => request.query !== undefined || request.messages !== undefined, {
    path: ['query'],
    message: 'is needed, or `messages`',
  })
  .refine((request) => request.query === undefined || request.messages === undefined, {
    path: ['query'],
    message: 'send `query` or `messages`, not both',
  })
  .refine(({ pin = [], k }) => new Set(pin).size <= k, {
    path: ['pin'],
    message: 'must not name more tools than k',
  })
  .refine(({ pin = [], exclude = [] }) => !pin.some((name) => exclude.includes(name)), {
    path: ['pin'],
    message: 'must not name a tool that `exclude` names',
  })
  .refine(({ format, detail = 'names' }) => format !== 'names' || detail === 'names', {
    path: ['detail'],
    message:
      'must be `names`, or left out, with format `names`, which has no definitions: use another `format`',
  })
  .refine((request) => request.assembly === undefined || countsTokens(request), {
    path: ['assembly'],
    message: 'needs `tokenBudget` or `instructions: true`',
  })
  .refine((request) => request.maxInstructions === undefined || request.instructions === true, {
    path: ['maxInstructions'],
    message: 'needs `instructions: true`',
  })
  .refine(
    ({ userId, maxContext, place, utcOffsetMinutes }) =>
      userId !== undefined || (maxContext ?? place ?? utcOffsetMinutes) === undefined,
    {
      path: ['userId'],
      message: 'is needed with `maxContext`, `place` and `utcOffsetMinutes`: they are about what a user has',
    },
  )
  .refine(
    ({ assembly, sessionId, task }) => assembly !== 'append' || sessionId !== undefined || task !== undefined,
    { path: ['assembly'], message: '`append` needs a `sessionId` or a `task` whose prompt it goes on with' },
  )
  .openapi('RouteRequest');
