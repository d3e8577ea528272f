/** @returns {Promise<any>} the answer. @throws Error with what the other side said. */
export async function postJson(url, body, headers = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  }).catch((error) => {
    throw new Error(`${new URL(url).origin} cannot be reached: ${error.cause?.message ?? error.message}`);
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}
