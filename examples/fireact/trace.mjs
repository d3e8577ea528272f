const WIDTH = 100;

/** One step, for people: what was shown, thought, done, seen and reported. */
export function traceOf({ step, slate, thought, actions, rewards }) {
  const lines = [
    `step ${step}`,
    line('filter', `${slate.names.join(', ')}  (${slate.decisionId})`),
    ...(thought === '' ? [] : [line('thought', thought)]),
    ...actions.flatMap(({ name, input, observation }) => [
      line('action', `${name} ${JSON.stringify(input)}`),
      line('observe', observation),
    ]),
    ...rewards.map(({ tool, outcome, status, decisions }) =>
      line('reward', `${tool} ${outcome}: ${status}${decisions > 1 ? ` for ${decisions} steps` : ''}`),
    ),
  ];
  return `${lines.join('\n')}\n\n`;
}

function line(what, text) {
  const oneLine = text.replace(/\s+/g, ' ').trim();
  const shown = what === 'filter' || oneLine.length <= WIDTH ? oneLine : `${oneLine.slice(0, WIDTH - 1)}…`;
  return `  ${what.padEnd(8)} ${shown}`;
}
