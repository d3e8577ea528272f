import { describe, expect, it } from 'vitest';
import { guarded } from '../../src/merging/guarded.ts';
import type { JudgedTool } from '../../src/merging/judge.ts';
import { RuleJudge } from '../../src/merging/rule-judge.ts';
import { judgeContract, judgedTool as tool } from '../contracts/judge.contract.ts';

judgeContract('RuleJudge', () => new RuleJudge());

const judge = new RuleJudge();

const takes = (parameters: Record<string, unknown>, required = Object.keys(parameters)) => ({
  inputSchema: { type: 'object', properties: parameters, required },
});

async function relation(a: JudgedTool, b: JudgedTool): Promise<string | undefined> {
  const [forwards, backwards] = await judge.judgePairs([
    [a, b],
    [b, a],
  ]);
  expect(backwards).toEqual(forwards);
  return forwards?.relation;
}

const triangle = takes({ base: { type: 'integer' }, height: { type: 'integer' } });

describe('the rules', () => {
  it('take tools for the same whose names differ in a number alone, if nothing else differs', async () => {
    const weather = (name: string, text = 'Get the weather of a city.') =>
      tool(name, text, takes({ city: { type: 'string' } }));
    expect(await relation(weather('weather_1'), weather('weather_2'))).toBe('same');
    expect(await relation(weather('weather'), weather('weather_2'))).toBe('same');
    expect(await relation(weather('get_weather_1_now'), weather('get_weather_2_now'))).toBe('same');
    expect(await relation(weather('weather_1'), weather('weather_2', 'Get the weather of Mars.'))).not.toBe(
      'same',
    );
    // A number in a word is part of what the word says.
    expect(await relation(weather('encode_base32'), weather('encode_base64'))).not.toBe('same');
    expect(guarded([weather('weather_1'), weather('weather_2')])).toMatch(/What 1 and 2 stands for/);
  });

  it('compare parameters by name alone where two tools have more than 10,000 pairs of them', async () => {
    const many = (count: number, prefix: string) =>
      takes(
        Object.fromEntries(
          Array.from({ length: count }, (_, at) => [`${prefix}${at}_size`, { type: 'integer' }]),
        ),
      );
    const [few, more] = [90, 900];
    const named = (count: number, prefix: string) =>
      tool(`make_${prefix}_report`, 'Make the yearly report of a firm.', many(count, 'size_of_part_'));
    expect(await relation(named(few, 'x'), named(few, 'x'))).toBe('same');
    expect(await relation(named(more, 'x'), named(more, 'x'))).toBe('same');
    const a = tool('make_report', 'Make the yearly report of a firm.', many(more, 'part_'));
    const b = tool('create_report', 'Create the yearly report of a firm.', many(more, 'part_'));
    const c = tool('create_report', 'Create the yearly report of a firm.', many(more, 'piece_'));
    expect(await relation(a, b)).toBe('same');
    expect(await relation(a, c)).toBe('overlapping');
  });

  it('find the same tool in other words, with other names of parameters', async () => {
    const a = tool(
      'calculate_triangle_area',
      'Calculate the area of a triangle given its base and height.',
      triangle,
    );
    const b = tool('geometry.area_triangle', 'Computes the area of a triangle.', triangle);
    expect(await relation(a, b)).toBe('same');
    const bmi = takes({ weight: { type: 'number' }, height: { type: 'number' } });
    const c = tool('calculate_bmi', 'Calculate the Body Mass Index (BMI) of a person.', bmi);
    const d = tool('bmi', 'Determine the BMI from weight and height.', bmi);
    expect(await relation(c, d)).toBe('same');
  });

  it.each([
    ['create_event', 'Create a calendar event.', 'delete_event', 'Delete a calendar event.'],
    [
      'get_temperature',
      'Get the temperature in Celsius.',
      'get_temperature',
      'Get the temperature in Fahrenheit.',
    ],
    ['celsius_to_kelvin', 'Convert celsius to kelvin.', 'kelvin_to_celsius', 'Convert kelvin to celsius.'],
    [
      'area_circle',
      'Calculate the area of a circle.',
      'circumference_circle',
      'Calculate the circumference of a circle.',
    ],
    ['get_user', 'Get one user account.', 'get_users', 'Get user accounts.'],
    ['list_orders', 'List my orders.', 'list_orders', 'List orders.'],
    ['deploy', 'Deploy the service to staging.', 'deploy', 'Deploy the service to production.'],
  ])('keep %s (%s) and %s (%s) apart', async (a, saidA, b, saidB) => {
    expect(await relation(tool(a, saidA), tool(b, saidB))).not.toBe('same');
  });

  const order = takes({ shop: { type: 'string' }, year: { type: 'integer' } });
  const SAID = 'Get the order history of a shop in a year.';
  const one = tool('get_order_history', SAID, order);
  /** The same, and other words of which nothing is compared, so that the two are no copies. */
  const also = (parameter: Record<string, unknown>, more: Partial<JudgedTool> = {}): JudgedTool =>
    tool('get_order_history', `${SAID} Easily.`, {
      ...takes({ shop: { type: 'string' }, year: { type: 'integer', ...parameter } }),
      ...more,
    });
  const said = (parameter: Record<string, unknown>): JudgedTool =>
    tool(
      'get_order_history',
      SAID,
      takes({ shop: { type: 'string' }, year: { type: 'integer', ...parameter } }),
    );

  it.each<[string, JudgedTool, JudgedTool, JudgedTool]>([
    ['one and a list', one, also({}), tool('list_order_history', SAID.replace('Get', 'List'), order)],
    ['own and everything', one, also({}), tool('get_order_history', `${SAID} It has to be my shop.`, order)],
    [
      'environments',
      tool('get_order_history', `${SAID} In staging.`, order),
      tool('get_order_history', `${SAID} On staging.`, order),
      tool('get_order_history', `${SAID} In production.`, order),
    ],
    ['spellings', said({ description: 'As YYYY-MM-DD' }), also({}), also({ description: 'As DD-MM-YYYY' })],
    [
      'contrasts of parameters',
      said({ description: 'The first' }),
      also({}),
      also({ description: 'The last' }),
    ],
    ['options', said({ enum: ['a', 'b', 'c'] }), also({ enum: ['a', 'b'] }), also({ enum: ['a', 'x', 'y'] })],
    [
      'servers that may be products',
      { ...one, server: 'acme' },
      also({}, { server: 'acme' }),
      also({}, { server: 'globex' }),
    ],
    ['products', { ...one, tags: ['github'] }, also({}), also({}, { tags: ['gitlab'] })],
  ])('keep two tools apart by nothing but %s', async (_, a, same, other) => {
    expect(await relation(a, same)).toBe('same');
    expect(await relation(a, other)).not.toBe('same');
  });

  it('keep tools of different products apart, and find copies of one server', async () => {
    const event = { ...takes({ title: { type: 'string' }, start: { type: 'string' } }) };
    const at = (server: string) =>
      tool(`${server}.create_event`, 'Create an event in the calendar.', { ...event, server });
    expect(await relation(at('google'), at('outlook'))).toBe('overlapping');
    expect(await relation(at('team-a'), at('team-b'))).toBe('same');
  });

  it('take what stands before a name for a place, where nothing else tells two tools apart', async () => {
    const event = takes({ title: { type: 'string' }, start: { type: 'string' } });
    const named = (name: string) => tool(name, 'Create an event in the calendar.', event);
    expect(await relation(named('alpha.create_event'), named('beta.create_event'))).toBe('same');
    expect(await relation(named('calendar1_create_event'), named('calendar2_create_event'))).toBe('same');
    expect(await relation(named('google.create_event'), named('outlook.create_event'))).toBe('overlapping');
    expect(await relation(named('staging.create_event'), named('production.create_event'))).not.toBe('same');
    const wordy = tool('beta.create_event', 'Create an event in the calendar of the beta team.', event);
    expect(await relation(named('alpha.create_event'), wordy)).not.toBe('same');
  });

  it('keep apart what differs in annotations or in how it is authorised', async () => {
    const said = 'Remove old files from the workspace folder.';
    const gentle = tool('clean_folder', said, { annotations: { destructiveHint: false } });
    expect(
      await relation(gentle, tool('clean_folder', said, { annotations: { destructiveHint: true } })),
    ).not.toBe('same');
    expect(
      await relation(
        tool('clean_folder', said, { metadata: { auth: 'user' } }),
        tool('clean_folder', said, { metadata: { auth: 'admin' } }),
      ),
    ).not.toBe('same');
  });

  it('audit: chains are cut, copies are one, whatever the order', async () => {
    const velocity = (name: string, description: string, names: string[]) =>
      tool(name, description, takes(Object.fromEntries(names.map((one) => [one, { type: 'number' }]))));
    const general = velocity(
      'final_velocity',
      'Calculate the final velocity given initial velocity, acceleration and time.',
      ['initial_velocity', 'acceleration', 'time'],
    );
    const again = velocity(
      'calculate_final_velocity',
      'Calculate the final velocity under acceleration from initial velocity and time.',
      ['initial_velocity', 'acceleration', 'time'],
    );
    const fall = velocity(
      'calculate_final_speed',
      'Calculate the final speed in free fall after a time, neglecting air resistance.',
      ['time', 'gravity'],
    );
    expect(await judge.audit([general, again])).toMatchObject({ verdict: 'MERGE_OK' });
    const audit = await judge.audit([general, fall, again]);
    expect(audit).toMatchObject({ verdict: 'MERGE_BAD', clusters: [[0, 2]] });
    const copies = Array.from({ length: 1_000 }, (_, at) =>
      tool(`site${at}.ping_host`, 'Ping a host on the network.', { server: `site${at}` }),
    );
    expect(await judge.audit(copies)).toMatchObject({ verdict: 'MERGE_OK' });
  });

  it('take whatever a schema holds', async () => {
    const odd = [
      { properties: 3 },
      { properties: { a: null } },
      { required: 'x', properties: { b: { type: 7, enum: 'no' } } },
      {},
    ];
    for (const inputSchema of odd) {
      const [verdict] = await judge.judgePairs([
        [tool('', '', { inputSchema: inputSchema as never }), tool('x', '…')],
      ]);
      expect(verdict?.relation).not.toBe('same');
    }
  });

  it('stop when they are told to', async () => {
    const pair = [tool('a', 'A thing.'), tool('b', 'B thing.')] as const;
    await expect(judge.judgePairs([pair], AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });
});
