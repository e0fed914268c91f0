/** The Prometheus texts of several worker processes as one text. Pure. */

/** What one process counts for itself; everything else is read from the database, and the same in all. */
const OF_A_PROCESS = /^# TYPE (?:\S+ counter|amends_worker_\S+ gauge)$/m;

/**
 * Metrics of a process get its number as a label, so that a counter that begins again with a process is seen as one that was reset. A
 * process that did not answer is left out.
 */
export function joinMetrics(texts: readonly (string | undefined)[]): string {
  const parts = texts.map((text) => text?.split(/^(?=# HELP )/m) ?? []);
  const first = parts.find((one) => one.length > 0) ?? [];
  return first
    .map((metric) => (OF_A_PROCESS.test(metric) ? labelled(headOf(metric), parts) : metric))
    .join("");
}

function labelled(head: string, parts: readonly (readonly string[])[]): string {
  const lines = parts.flatMap((metrics, at) => {
    const own = metrics.find((metric) => headOf(metric) === head);
    return (own?.slice(head.length).trimEnd().split("\n") ?? []).map((line) =>
      line.replace(/^(\S+?) /, `$1{process="${at + 1}"} `),
    );
  });
  return `${head}${lines.join("\n")}\n`;
}

/** The two lines of comment above the values. */
function headOf(metric: string): string {
  return /^(?:#.*\n)*/.exec(metric)?.[0] ?? "";
}
