/** One line of a chart: y over x, both of the same length. */
export interface Series {
  readonly label: string;
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly dashed?: boolean;
}

export interface ChartOptions {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly logarithmic?: boolean;
}

const WIDTH = 760;
const HEIGHT = 420;
const LEFT = 64;
const RIGHT = 220;
const TOP = 40;
const BOTTOM = 48;
const COLOURS = ['#1f6feb', '#d1242f', '#1a7f37', '#9a6700', '#8250df', '#0a7ea4', '#bf3989', '#57606a'];

/** A line chart as SVG, readable on light and dark ground, without scripts or fonts of its own. */
export function lineChart(series: readonly Series[], options: ChartOptions): string {
  const xs = series.flatMap(({ x }) => x);
  const ys = series.flatMap(({ y }) => y).filter((y) => !options.logarithmic || y > 0);
  const x = scale(Math.min(...xs), Math.max(...xs), LEFT, WIDTH - RIGHT, false);
  const y = scale(
    options.logarithmic ? Math.min(...ys) : Math.min(0, ...ys),
    Math.max(...ys),
    HEIGHT - BOTTOM,
    TOP,
    options.logarithmic ?? false,
  );
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(options.title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="22" font-size="15">${escaped(options.title)}</text>`,
    ...x.ticks.map((tick) => text(x.at(tick), HEIGHT - BOTTOM + 18, 'middle', short(tick))),
    ...y.ticks.flatMap((tick) => [
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y.at(tick)}" y2="${y.at(tick)}" stroke="#d8dee4"/>`,
      text(LEFT - 8, y.at(tick) + 4, 'end', short(tick)),
    ]),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, 'middle', options.xLabel),
    `<text transform="translate(16 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${escaped(options.yLabel)}</text>`,
  ];
  for (const [index, line] of series.entries()) {
    const colour = COLOURS[index % COLOURS.length];
    const dash = line.dashed ? ' stroke-dasharray="5 4"' : '';
    const points = line.x
      .map((value, i) => [value, line.y[i]] as const)
      .filter(([, value]) => !options.logarithmic || value > 0)
      .map(([px, py]) => `${x.at(px).toFixed(1)},${y.at(py).toFixed(1)}`)
      .join(' ');
    const legend = TOP + 8 + 20 * index;
    parts.push(
      `<polyline fill="none" stroke="${colour}" stroke-width="2"${dash} points="${points}"/>`,
      `<line x1="${WIDTH - RIGHT + 12}" x2="${WIDTH - RIGHT + 36}" y1="${legend}" y2="${legend}" stroke="${colour}" stroke-width="2"${dash}/>`,
      text(WIDTH - RIGHT + 42, legend + 4, 'start', line.label),
    );
  }
  return `${parts.join('\n')}\n</svg>\n`;
}

interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

function scale(low: number, high: number, from: number, to: number, logarithmic: boolean): Scale {
  if (logarithmic) {
    const first = Math.floor(Math.log10(low));
    const last = Math.max(first + 1, Math.ceil(Math.log10(high)));
    return {
      at: (value) => from + ((Math.log10(value) - first) / (last - first)) * (to - from),
      ticks: Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i)),
    };
  }
  const range = high > low ? high - low : 1;
  const magnitude = 10 ** Math.floor(Math.log10(range / 4));
  const step = [1, 2, 5, 10].map((factor) => factor * magnitude).find((size) => range / size <= 6) as number;
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1000; tick += step) ticks.push(tick);
  return { at: (value) => from + ((value - low) / range) * (to - from), ticks };
}

function text(x: number, y: number, anchor: string, content: string): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function short(value: number): string {
  return Math.abs(value) >= 1000
    ? `${Number((value / 1000).toPrecision(3))}k`
    : String(Number(value.toPrecision(3)));
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
