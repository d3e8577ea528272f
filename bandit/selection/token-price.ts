/**
 * What a token costs that is added to a prompt which goes on, in probability: 100 tokens have to be needed in one of 25 steps. A token that is
 * written to a cache and read in ten more steps costs 2.25; at 1/2500 a step that fails for want of it is taken to cost 5,600, about one more
 * request late in a session. Chosen on the tasks of bench/itr for choosing.
 */
const TOKEN_PRICE = 1 / 2500;

/**
 * Returns those of the chosen that are worth their tokens: need > price · tokens. What is needed most of all candidates is worth any; where no
 * need is known, everything is.
 */
export function worthTokens(
  chosen: readonly number[],
  { need, tokens }: { readonly need?: Float64Array; readonly tokens: Float64Array },
): readonly number[] {
  if (need === undefined) return chosen;
  const most = need.reduce((best, value, index) => (value > need[best] ? index : best), 0);
  return chosen.filter((index) => index === most || need[index] > TOKEN_PRICE * tokens[index]);
}
