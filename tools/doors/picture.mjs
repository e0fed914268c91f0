/** The rooms as a diagram: an arrow where a room imports another. */

/**
 * Arrows that follow from others are left out, so that the picture can be read.
 * @param {Map<string, Set<string>>} imports from `roomImports`
 */
export function mermaid(imports) {
  const arrows = new Map([...imports].map(([name, others]) => [name, new Set(others)]));
  for (const [name, others] of imports) {
    const rest = /** @type {Set<string>} */ (arrows.get(name));
    for (const other of others) {
      rest.delete(other);
      if (!reaches(name, other, arrows)) rest.add(other);
    }
  }
  const order = [...imports.keys()];
  const lines = [...arrows].flatMap(([name, others]) =>
    order.filter((other) => others.has(other)).map((other) => `  ${node(name)} --> ${node(other)}`),
  );
  return ["flowchart TD", ...lines].join("\n");
}

/**
 * @param {string} from
 * @param {string} to
 * @param {Map<string, Set<string>>} arrows
 */
function reaches(from, to, arrows) {
  const seen = new Set([from]);
  for (const name of seen) for (const next of arrows.get(name) ?? []) seen.add(next);
  return seen.has(to);
}

/**
 * A slash has a meaning of its own in a diagram: such a room gets another id, and its name as a label.
 * @param {string} name
 */
function node(name) {
  return name.includes("/") ? `${name.replaceAll(/\W/g, "_")}["${name}"]` : name;
}
