import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { unitable } from '../../src/merging/audit-component.ts';
import { guarded } from '../../src/merging/guarded.ts';
import { matchParameters } from '../../src/merging/match-parameters.ts';
import { likeness, type PreparedParameter, prepare } from '../../src/merging/parameter-likeness.ts';
import { representativeOf, type UnitedDefinition, unite } from '../../src/merging/unite-definitions.ts';
import { atOnce, type Steps } from '../../src/scheduling/slices.ts';

type Parameters = Record<string, Record<string, unknown>>;

function tool(
  name: string,
  properties: Parameters,
  required: readonly string[] = Object.keys(properties),
  more: Partial<ToolDefinition> = {},
): ToolDefinition {
  return { name, description: '', inputSchema: { type: 'object', properties, required }, ...more };
}

const text = (description = ''): Record<string, unknown> => ({ type: 'string', description });
const number = (description = ''): Record<string, unknown> => ({ type: 'integer', description });

function united(
  members: readonly ToolDefinition[],
): Exclude<UnitedDefinition, { readonly conflict: string }> {
  const union = atOnce(unite(members, representativeOf(members.map(({ name }) => name))));
  if ('conflict' in union) throw new Error(union.conflict);
  return union;
}

function conflictOf(...members: ToolDefinition[]): string | null {
  const union = atOnce(unite(members, representativeOf(members.map(({ name }) => name))));
  return 'conflict' in union ? union.conflict : null;
}

describe('the representative', () => {
  it('has the shortest name, of equals the first in order', () => {
    expect(representativeOf(['getWeatherNow', 'weather', 'forecast'])).toBe('weather');
    expect(representativeOf(['bbb', 'aaa', 'cccc'])).toBe('aaa');
  });
});

describe('parameters', () => {
  it('keep the names and schemas of the representative, and are mapped to those of the others', () => {
    const a = tool('fx', { from_currency: text(), to_currency: text(), amount: number() });
    const b = tool('convert_currency', {
      baseCurrency: text(),
      targetCurrency: text(),
      amount: { type: 'number' },
    });
    const { definition, mappings } = united([b, a]);
    expect(definition.inputSchema).toEqual(a.inputSchema);
    expect(mappings).toEqual({
      fx: { arguments: {}, absent: [] },
      convert_currency: {
        arguments: { from_currency: 'baseCurrency', to_currency: 'targetCurrency' },
        absent: [],
      },
    });
  });

  it('that one alone takes are optional, and absent at the others', () => {
    const a = tool('wx', { city: text() });
    const b = tool('weather', { location: text(), units: text() }, ['location']);
    const { definition, mappings } = united([a, b]);
    expect(Object.keys(definition.inputSchema.properties as object)).toEqual(['city', 'units']);
    expect(definition.inputSchema.required).toEqual(['city']);
    expect(mappings.wx.absent).toEqual(['units']);
    expect(mappings.weather).toEqual({ arguments: { city: 'location' }, absent: [] });
  });

  it('are required where every member requires them, and otherwise where the representative does', () => {
    const a = tool('wx', { city: text(), day: text() }, ['city', 'day']);
    const b = tool('weather', { city: text(), day: text() }, ['city']);
    expect(united([a, b]).definition.inputSchema.required).toEqual(['city']);
    const c = tool('weather', { city: text(), day: text() }, ['day']);
    expect(
      united([tool('wx', { city: text(), day: text() }, ['city']), c]).definition.inputSchema.required,
    ).toEqual(['city']);
  });

  it('that a member requires and that have one value only are always sent', () => {
    const a = tool('wx', { city: text() });
    const b = tool('weather', {
      city: text(),
      mode: { const: 'now' },
      pages: { type: 'integer', default: 1 },
    });
    expect(united([a, b]).mappings.weather).toEqual({
      arguments: {},
      fixed: { mode: 'now', pages: 1 },
      absent: [],
    });
  });

  it.each([
    ['types', { id: text() }, { id: number() }],
    ['units', { height: number('in centimeters') }, { height_m: number('in meters') }],
    ['kinds', { code: text('The airport code') }, { airport_name: text('The name of the airport') }],
    ['opposites', { start_date: text('The date') }, { end_date: text('The date') }],
    ['numbers', { file1: text('The file') }, { file2: text('The file') }],
    ['values', { mode: text() }, { mode: { enum: ['a', 'b'] } }],
    ['axes', { x: number() }, { y: number() }],
    [
      'items',
      { ids: { type: 'array', items: { type: 'string' } } },
      { ids: { type: 'array', items: { type: 'integer' } } },
    ],
  ])('that are required and do not fit are a conflict: %s', (_, one, other) => {
    expect(conflictOf(tool('a', one as Parameters), tool('bb', other as Parameters))).toMatch(
      /^a (?:and bb|requires)/,
    );
  });

  it.each([
    [
      ['from', 'to'],
      ['base_currency', 'target_currency'],
    ],
    [
      ['check_in', 'check_out'],
      ['checkin_date', 'checkout_date'],
    ],
    [['device'], ['device_id']],
    [
      ['n', 'w'],
      ['number', 'width'],
    ],
    [['policy_id'], ['policy_number']],
  ])('%j are taken for %j', (own, others) => {
    const a = tool('change_currency', Object.fromEntries(own.map((name) => [name, text()])));
    const b = tool('currency_converter', Object.fromEntries(others.map((name) => [name, text()])));
    const { mappings, guesses } = united([a, b]);
    expect(Object.entries(mappings[b.name].arguments)).toEqual(own.map((name, at) => [name, others[at]]));
    expect(guesses).toEqual([]);
  });

  it('that are alone left over and required are taken for the same, and that is said to be a guess', () => {
    const { mappings, guesses } = united([
      tool('todo', { text: text() }),
      tool('add_task', { essay: text() }),
    ]);
    expect(mappings.add_task.arguments).toEqual({ text: 'essay' });
    expect(guesses).toEqual(['That essay of add_task is text of todo is a guess.']);
    const two = [
      tool('todo', { text: text(), more: text() }),
      tool('add_task', { essay: text(), grade: text() }),
    ];
    expect(conflictOf(...two)).toContain('requires');
  });

  it('of schemas that cannot be read are a conflict, unless the schemas are the same', () => {
    const odd = { anyOf: [{ required: ['a'] }, { required: ['b'] }] };
    const member = (name: string, inputSchema: Record<string, unknown>): ToolDefinition => ({
      name,
      description: '',
      inputSchema,
    });
    expect(conflictOf(member('a', odd), tool('b', {}))).toContain('cannot be compared');
    expect(conflictOf(member('a', odd), member('b', odd))).toBeNull();
  });

  it('that point at other parts of their schema are taken from no other member', () => {
    const day = { $ref: '#/$defs/day' };
    const { definition, mappings } = united([
      tool('a', { id: text() }),
      tool('bb', { id: text(), day, zone: text() }, ['id']),
    ]);
    expect(Object.keys(definition.inputSchema.properties as object)).toEqual(['id', 'zone']);
    expect(mappings.a.absent).toEqual(['zone']);
  });

  it('may have any name', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
    );
    const other = tool('bb', { constructor: { type: 'string' } }, []);
    const { definition, mappings } = united([
      { name: '__proto__', description: '', inputSchema: schema },
      other,
    ]);
    expect(Object.keys(definition.inputSchema.properties as object)).toContain('__proto__');
    expect(Object.keys(mappings).sort()).toEqual(['__proto__', 'bb']);
  });
});

describe('tools that do the same', () => {
  const parted = (tools: readonly ToolDefinition[]) => {
    const steps = unitable(tools.map((one, slot) => ({ slot, tool: one, hash: definitionHash(one) })));
    for (let count = 0; ; count++) {
      const { done, value } = steps.next();
      if (!done) continue;
      const groups = value.groups.map((group) => group.map((one) => one.tool.name).sort());
      return { count, groups: groups.sort(), left: value.left };
    }
  };

  it('are one group, or as many as can be united', () => {
    const choice = (name: string, of: string): ToolDefinition => ({
      ...tool(name, {}),
      inputSchema: { anyOf: [{ required: [of] }, { required: ['b'] }] },
    });
    expect(parted([tool('a', { q: text() }), tool('bb', { query: text() })])).toMatchObject({
      groups: [['a', 'bb']],
      left: 0,
    });
    const all = [
      ...[tool('a', { id: text() }), tool('bb', { id: number() }), tool('cc', { id: text() })],
      ...[tool('dd', { id: number() }), choice('e', 'x'), choice('ff', 'y'), choice('gg', 'x')],
    ];
    expect(parted(all)).toMatchObject({
      groups: [
        ['a', 'cc'],
        ['bb', 'dd'],
        ['e', 'gg'],
      ],
      left: 1,
    });
  });

  it('are parted in steps, a few per tool where schemas are copies or cannot be read', () => {
    const many = Array.from({ length: 400 }, (_, at) => ({
      ...tool(`t${at}`, {}),
      inputSchema: { anyOf: [{ required: [`p${at % 200}`] }] },
    }));
    const { count, groups, left } = parted(many);
    expect({ groups: groups.length, left }).toEqual({ groups: 200, left: 0 });
    expect(count).toBeGreaterThanOrEqual(400);
    expect(count).toBeLessThan(1_200);
  });
});

describe('the other members of the definition', () => {
  it('have no text that no member has', () => {
    const a = tool('wx', {}, [], { description: 'Weather of a city. Free of charge.' });
    const b = tool('weather', {}, [], { description: 'Weather of a city. Knows rainfall too.' });
    expect(united([a, b]).definition.description).toBe(
      'Weather of a city. Free of charge. Knows rainfall too.',
    );
    expect(united([tool('wx', {}), b]).definition.description).toBe(b.description);
  });

  it('grow by so many characters at most, whatever there is to add', () => {
    const letters = Array.from({ length: 20 }, (_, at) => String.fromCharCode(97 + at));
    const more = letters.map((letter) => `It does ${letter.repeat(40)} as well.`).join(' ');
    const { definition } = united([
      tool('a', {}, [], { description: 'It does something.' }),
      tool('bb', {}, [], { description: more }),
    ]);
    const added = definition.description.length - 'It does something.'.length;
    expect(added).toBeGreaterThan(300);
    expect(added).toBeLessThanOrEqual(400);
  });

  it('say that the world is open where it is for one member', () => {
    const { definition } = united([
      tool('a', {}, [], { annotations: { openWorldHint: false } }),
      tool('bb', {}, [], { annotations: { openWorldHint: true } }),
    ]);
    expect(definition.annotations).toEqual({ openWorldHint: true });
  });

  it('say of effects what holds for every member, and of results only what is the same', () => {
    const outputSchema = { type: 'object' };
    const a = tool('wx', {}, [], { annotations: { readOnlyHint: true, title: 'A' }, outputSchema });
    const b = tool('weather', {}, [], { annotations: { readOnlyHint: true, destructiveHint: true } });
    const { definition } = united([a, b]);
    expect(definition.annotations).toEqual({ readOnlyHint: true, destructiveHint: true });
    expect(definition).not.toHaveProperty('outputSchema');
  });

  it('list tags and examples of all, each once, and no earlier names', () => {
    const a = tool('wx', {}, [], { tags: ['x', 'y'], examples: ['one'], replaces: ['old'] });
    const b = tool('weather', {}, [], { tags: ['y', 'z'], examples: ['one', 'two'] });
    const { definition } = united([a, b]);
    expect(definition.tags).toEqual(['x', 'y', 'z']);
    expect(definition.examples).toEqual(['one', 'two']);
    expect(definition).not.toHaveProperty('replaces');
  });
});

describe('properties', () => {
  const NAMES = ['query', 'q', 'limit', 'city', 'start_date', 'end_date', 'id', 'units'];
  const parameters = fc.uniqueArray(
    fc.record({
      name: fc.constantFrom(...NAMES),
      type: fc.constantFrom('string', 'integer', 'boolean'),
      required: fc.boolean(),
    }),
    { selector: ({ name }) => name, maxLength: 5 },
  );

  it('whoever calls the representative as before is understood, and every member gets what it requires or is told apart', () => {
    fc.assert(
      fc.property(fc.array(parameters, { minLength: 2, maxLength: 4 }), (all) => {
        const members = all.map((some, at) =>
          tool(
            `t${'x'.repeat(at)}`,
            Object.fromEntries(some.map(({ name, type }) => [name, { type }])),
            some.filter(({ required }) => required).map(({ name }) => name),
          ),
        );
        const union = atOnce(unite(members, 't'));
        if ('conflict' in union) return;
        const { definition, mappings } = union;
        const properties = definition.inputSchema.properties as Parameters;
        const required = (definition.inputSchema.required ?? []) as string[];
        const own = members[0].inputSchema;
        for (const [name, schema] of Object.entries(own.properties as Parameters))
          expect(properties[name]).toEqual(schema);
        for (const name of required) expect(own.required).toContain(name);
        expect(mappings.t).toEqual({ arguments: {}, absent: expect.any(Array) });
        for (const { name, inputSchema } of members) {
          const { arguments: renamed, fixed = {}, absent } = mappings[name];
          const taken = Object.keys(properties).filter((one) => !absent.includes(one));
          const names = taken.map((one) => renamed[one] ?? one);
          const theirs = inputSchema.properties as Parameters;
          expect(new Set(names).size).toBe(names.length);
          for (const one of names) expect(theirs).toHaveProperty(one);
          for (const one of inputSchema.required as string[])
            expect([...names, ...Object.keys(fixed)]).toContain(one);
        }
      }),
      { seed: 3, numRuns: 300 },
    );
  });
});

describe('many parameters', () => {
  const NOUNS = 'customer order invoice ticket payment shipment region currency period status owner'.split(
    ' ',
  );
  const wide = (name: string, count: number, seed: number): ToolDefinition =>
    tool(
      name,
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [
          `${NOUNS[(at * seed) % NOUNS.length]}_${at}_${seed}`,
          text(),
        ]),
      ),
      [],
    );

  it('of the same names are compared once per member', () => {
    const members = Array.from({ length: 20 }, (_, at) => ({
      ...wide(`t${'x'.repeat(at)}`, 60, 1),
      ...(at === 19 ? wide(`t${'x'.repeat(at)}`, 61, 1) : {}),
    }));
    const { steps, result } = counted(unite(members, 't'));
    expect(result).toHaveProperty('mappings');
    // 60 pairs and a few steps of other work per member, instead of 60 × 60 pairs.
    expect(steps).toBeLessThan(20 * 70);
  });

  it('of other names are compared only where these have something in common', () => {
    const names = (side: string, at: number): string =>
      `${side}${'abcdefghij'[at % 10]}${'klmnopqrst'[Math.floor(at / 10)]}`;
    const of = (name: string, side: string): ToolDefinition =>
      tool(name, Object.fromEntries(Array.from({ length: 50 }, (_, at) => [names(side, at), text()])), []);
    const { steps, result } = counted(unite([of('t', 'vv'), of('tt', 'zz')], 't'));
    expect(
      Object.keys((result as { definition: ToolDefinition }).definition.inputSchema.properties as object),
    ).toHaveLength(100);
    expect(steps).toBeLessThan(10);
  });

  it('are a conflict beyond a hundred, unless the schemas are the same', () => {
    expect(conflictOf(wide('t', 60, 1), wide('tt', 60, 2))).toBe(
      'With tt the tool would have 119 parameters, and may have at most 100.',
    );
    expect(conflictOf(wide('t', 101, 1), wide('tt', 3, 1))).toBe(
      't has 101 parameters, and tools that are united have at most 100.',
    );
    expect(conflictOf(wide('t', 900, 1), wide('tt', 900, 1))).toBeNull();
  });

  it('are matched as if every pair had been compared', () => {
    const WORDS = 'query q limit count start from to id user name width w file file1 checkin check in'.split(
      ' ',
    );
    const parameters = fc.uniqueArray(
      fc.record({
        name: fc
          .tuple(fc.constantFrom(...WORDS), fc.constantFrom('', ...WORDS))
          .map((words) => words.filter((word) => word !== '').join('_')),
        type: fc.constantFrom('string', 'string', 'integer'),
        description: fc.constantFrom(
          '',
          'in meters',
          'the name of the user who asks',
          'who asks: the name of a user',
        ),
        required: fc.boolean(),
      }),
      { selector: ({ name }) => name, maxLength: 8 },
    );
    const preparedOf = (some: { name: string; required: boolean; type: string; description: string }[]) =>
      some.map(({ name, required, ...schema }) => prepare({ name, required, schema }));
    fc.assert(
      fc.property(parameters, parameters, (one, other) => {
        const [own, others] = [preparedOf(one), preparedOf(other)];
        const about = ['get_user', 'find_file'];
        const { pairs } = atOnce(matchParameters(own, others, about));
        expect([...pairs].sort()).toEqual([...matchedNaively(own, others, about)].sort());
      }),
      { seed: 5, numRuns: 500 },
    );
  });
});

/** Every parameter with every other, the most alike first, and then the last two that are required. */
function matchedNaively(
  own: readonly PreparedParameter[],
  others: readonly PreparedParameter[],
  about: readonly string[],
): Map<number, number> {
  const all = own.flatMap((one, a) =>
    others.map((other, b) => ({ a, b, likeness: likeness(one, other, about) ?? -1 })),
  );
  all.sort((x, y) => y.likeness - x.likeness || x.a - y.a || x.b - y.b);
  const matched = new Map<number, number>();
  const isFree = ({ a, b }: { a: number; b: number }): boolean =>
    !matched.has(a) && ![...matched.values()].includes(b);
  for (const pair of all) if (pair.likeness >= 0.5 && isFree(pair)) matched.set(pair.a, pair.b);
  const last = [
    own.filter((one, a) => one.required && !matched.has(a)),
    others.filter((one, b) => one.required && ![...matched.values()].includes(b)),
  ];
  const left = all.filter((pair) => own[pair.a].required && others[pair.b].required && isFree(pair));
  if (last.every(({ length }) => length === 1) && left[0].likeness >= 0) matched.set(left[0].a, left[0].b);
  return matched;
}

function counted<Result>(work: Steps<Result>): { steps: number; result: Result } {
  for (let steps = 0; ; steps++) {
    const step = work.next();
    if (step.done) return { steps, result: step.value };
  }
}

describe('what is never approved automatically', () => {
  const reads = { annotations: { readOnlyHint: true } };
  it.each([
    [
      'destructive',
      [tool('a', {}, [], { annotations: { destructiveHint: true } }), tool('b', {})],
      /destroy/,
    ],
    ['differing annotations', [tool('a', {}, [], reads), tool('b', {})], /annotations differ/],
    [
      'different servers',
      [tool('a', {}, [], { server: 'x' }), tool('b', {}, [], { server: 'y' })],
      /servers/,
    ],
    [
      'differing scopes',
      [tool('a', {}, [], { metadata: { scopes: ['w'] } }), tool('b', {})],
      /scopes differ/,
    ],
    [
      'differing authorization',
      [tool('a', {}, [], { metadata: { authorization: 'oauth' } }), tool('b', {})],
      /authorization differ/,
    ],
    [
      'differing methods',
      [tool('a', {}, [], { _meta: { method: 'GET' } }), tool('b', {}, [], { _meta: { method: 'PUT' } })],
      /method differ/,
    ],
    ['grave verbs', [tool('deleteUser', {}), tool('removeUser', {})], /take back/],
  ])('%s', (_, members, reason) => {
    expect(guarded(members)).toMatch(reason);
  });

  it.each(
    (
      'archive_mail block_user ban_user suspend_user disable_user deactivate_user restart_host stop_host notify_team submit_form ' +
      'move_file rename_file replace_text update_user modify_user deletes_user sending_mail charge_card userRemoval_erases orders_place'
    ).split(' '),
  )('%s', (name) => {
    expect(guarded([tool('get_it', {}), tool(name, {})])).toMatch(/take back/);
  });

  it.each([
    'Deletes a user.',
    'This permanently removes a file.',
    'Gets a message and archives it afterwards.',
    'Looks for hosts. Restarts those that hang.',
    'Can be used to notify a team.',
  ])('says a description: %s', (description) => {
    expect(guarded([tool('it', {}), tool('handle', {}, [], { description })])).toMatch(/take back/);
  });

  it('is not what a description only speaks of', () => {
    for (const description of [
      'Get the order of a customer.',
      'Find who deleted a file.',
      'Performs an addition.',
    ])
      expect(guarded([tool('it', {}), tool('other_it', {}, [], { description })])).toBeNull();
  });

  it('is not what only reads', () => {
    expect(guarded([tool('run_report', {}, [], reads), tool('get_report', {}, [], reads)])).toBeNull();
    expect(guarded([tool('get_x', {}), tool('fetch_x', {})])).toBeNull();
  });
});
