// One line on stderr that says what is running: overwritten on a terminal, one line per turn elsewhere.

export function progressLine(stream = process.stderr) {
  const begun = performance.now();
  let turn = "";
  const elapsed = () => `${Math.round((performance.now() - begun) / 1000)} s`;
  const show = (text) =>
    stream.isTTY && stream.write(`\r\u001B[K${text.slice(0, (stream.columns ?? 80) - 1)}`);
  return {
    /** @param {{ round: number, rounds: number, name: string, done: number, total: number }} next */
    turn({ round, rounds, name, done, total }) {
      turn = `[${done + 1}/${total}] round ${round + 1} of ${rounds}: ${name}`;
      if (stream.isTTY) show(`${turn} (${elapsed()})`);
      else stream.write(`${turn} (${elapsed()})\n`);
    },
    /** @param {string} what */
    detail: (what) => show(`${turn}, ${what} (${elapsed()})`),
    clear: () => show(""),
  };
}
