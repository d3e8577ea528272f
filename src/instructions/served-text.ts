/** A line that begins or ends a code block, in a list as well. */
const FENCE = /^([ \t]*)(`{3,}|~{3,})(.*)$/;

/**
 * Returns an instruction's text as it is served: as it was put, and with a last line that ends its last code block where nothing in it does.
 * Else what comes after it in a prompt would be read as code.
 */
export function servedText(text: string): string {
  let open: { readonly indent: string; readonly mark: string } | null = null;
  for (const line of text.split(/\r\n|[\r\n]/)) {
    const [, indent, mark, rest] = FENCE.exec(line) ?? [];
    if (mark === undefined) continue;
    if (open === null) {
      // Backticks after backticks are code within a line.
      if (mark[0] === '~' || !rest.includes('`')) open = { indent, mark };
    } else if (mark.startsWith(open.mark) && rest.trim() === '') {
      open = null;
    }
  }
  if (open === null) return text;
  return `${text}${/[\r\n]$/.test(text) ? '' : '\n'}${open.indent}${open.mark}`;
}
