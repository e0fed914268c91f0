// One line on stderr that says what is running: overwritten on a terminal, one line per turn elsewhere.

export function progressLine(stream = process.stderr) {
  const begun = performance.now();
  const elapsed = () => `${Math.round((performance.now() - begun) / 1000)} s`;
  const show = (text) => stream.write(`\r\u001B[K${text.slice(0, (stream.columns ?? 80) - 1)}`);
  return {
    /** @param {string} what */
    say(what) {
      const text = `${what} (${elapsed()})`;
      if (stream.isTTY) show(text);
      else stream.write(`${text}\n`);
    },
    clear: () => stream.isTTY && show(""),
  };
}
