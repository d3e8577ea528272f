/** Recall@1/5/10. */
export type Recalls = readonly [at1: number, at5: number, at10: number];
export interface Reference {
  readonly bm25: Recalls;
  readonly dense: Recalls;
  readonly both: Recalls;
}

/** What a reference implementation in another language reached with the same texts, by set and split: BM25, tool-static-256, their sum. */
export const REFERENCE: Readonly<Record<string, Reference>> = {
  'seal-tools test': row(0.387, 0.791, 0.876, 0.324, 0.606, 0.72, 0.393, 0.784, 0.876),
  'seal-tools test_in_domain': row(0.476, 0.835, 0.908, 0.405, 0.657, 0.758, 0.488, 0.833, 0.902),
  'seal-tools dev': row(0.477, 0.847, 0.912, 0.418, 0.659, 0.767, 0.484, 0.844, 0.913),
  'bfcl-simple test': row(0.8, 0.968, 0.983, 0.752, 0.96, 0.98, 0.825, 0.97, 0.98),
  'bfcl-parallel parallel': row(0.85, 0.93, 0.96, 0.72, 0.925, 0.955, 0.835, 0.965, 0.98),
  'bfcl-parallel parallel_multiple': row(0.383, 0.845, 0.919, 0.32, 0.681, 0.81, 0.399, 0.843, 0.911),
  'bfcl-multiturn test': row(0.17, 0.538, 0.715, 0.138, 0.461, 0.617, 0.181, 0.561, 0.755),
  'ultratool test': row(0.287, 0.682, 0.829, 0.221, 0.598, 0.724, 0.314, 0.721, 0.855),
  'toollens test': row(0.152, 0.311, 0.381, 0.08, 0.211, 0.286, 0.145, 0.316, 0.394),
  'stabletoolbench test': row(0.285, 0.608, 0.696, 0.228, 0.533, 0.637, 0.288, 0.628, 0.73),
  'toollinkos test': row(0.134, 0.218, 0.255, 0.155, 0.241, 0.273, 0.152, 0.234, 0.267),
  'mcp-zero test': row(0.78, 0.931, 0.957, 0.765, 0.92, 0.948, 0.834, 0.953, 0.971),
  'api-bank level1': row(0.478, 0.747, 0.863, 0.47, 0.762, 0.871, 0.485, 0.78, 0.925),
  'api-bank level2': row(0.398, 0.735, 0.857, 0.449, 0.704, 0.857, 0.418, 0.694, 0.939),
  'restbench spotify': row(0.244, 0.583, 0.8, 0.303, 0.557, 0.716, 0.289, 0.648, 0.849),
  'restbench tmdb': row(0.193, 0.46, 0.564, 0.23, 0.458, 0.545, 0.242, 0.449, 0.598),
  'toolalpaca test_real': row(0.602, 0.861, 0.917, 0.597, 0.884, 0.907, 0.648, 0.88, 0.944),
  'toolalpaca test_simulated': row(0.725, 0.918, 0.973, 0.681, 0.951, 0.978, 0.736, 0.951, 0.978),
  'xlam-toolret test': row(0.588, 0.812, 0.865, 0.545, 0.777, 0.841, 0.634, 0.852, 0.897),
};

/** The same for the embedding alone, all-MiniLM-L6-v2 in int8. */
export const REFERENCE_MINILM: Readonly<Record<string, Recalls>> = {
  'seal-tools test': [0.301, 0.533, 0.636],
  'seal-tools test_in_domain': [0.391, 0.614, 0.688],
  'seal-tools dev': [0.387, 0.619, 0.701],
  'bfcl-simple test': [0.76, 0.975, 0.988],
  'bfcl-parallel parallel': [0.725, 0.95, 0.99],
  'bfcl-parallel parallel_multiple': [0.314, 0.722, 0.831],
  // biome-ignore lint/suspicious/noApproximativeNumericConstant: a recall that looks like a logarithm
  'bfcl-multiturn test': [0.154, 0.434, 0.592],
  'ultratool test': [0.274, 0.639, 0.763],
  'toollens test': [0.103, 0.245, 0.335],
  'stabletoolbench test': [0.244, 0.512, 0.618],
  'toollinkos test': [0.161, 0.236, 0.268],
  'mcp-zero test': [0.703, 0.873, 0.914],
  'api-bank level1': [0.503, 0.787, 0.869],
  'api-bank level2': [0.531, 0.755, 0.775],
  'restbench spotify': [0.294, 0.57, 0.722],
  'restbench tmdb': [0.24, 0.448, 0.606],
  'toolalpaca test_real': [0.551, 0.875, 0.917],
  'toolalpaca test_simulated': [0.659, 0.956, 0.995],
  'xlam-toolret test': [0.553, 0.78, 0.848],
};

function row(...n: number[]): Reference {
  return { bm25: [n[0], n[1], n[2]], dense: [n[3], n[4], n[5]], both: [n[6], n[7], n[8]] };
}
