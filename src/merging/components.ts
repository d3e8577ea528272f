/** Returns the connected components of an undirected graph with at least two nodes, each in ascending order, by their lowest node. */
export function componentsOf(edges: Iterable<readonly [number, number]>): number[][] {
  const parents = new Map<number, number>();
  const rootOf = (node: number): number => {
    let root = node;
    for (let next = parents.get(root) ?? root; next !== root; next = parents.get(root) ?? root) root = next;
    for (let at = node; at !== root; ) {
      const next = parents.get(at)!;
      parents.set(at, root);
      at = next;
    }
    return root;
  };
  for (const [a, b] of edges) {
    const [low, high] = [rootOf(a), rootOf(b)].sort((x, y) => x - y);
    parents.set(low, low);
    parents.set(high, low);
  }
  const components = new Map<number, number[]>();
  for (const node of [...parents.keys()].sort((a, b) => a - b)) {
    const root = rootOf(node);
    const component = components.get(root);
    if (component === undefined) components.set(root, [node]);
    else component.push(node);
  }
  return [...components.values()].filter(({ length }) => length > 1);
}
