// The WebAssembly side of bandit/kernels. Arguments are byte addresses; ../wasm-kernels.ts has checked them.
export { addColumns, dot, scan, scanCodes, scanRows } from './vectors';
export { codeProducts } from './codes';
export { lowRankTimes, symmetricAdd, symmetricForms, symmetricTimes } from './symmetric';
export { refreshForms, scoreForms } from './forms';
export { sumInclusion } from './inclusion';
export { scoreTrees } from './trees';
