/**
 * When somebody wants the tour to end. On a terminal Ctrl-C is read as a key: as a signal it would also reach npm and the
 * shell between, which die of it and say that something failed, although everything was put away in order.
 */
const CTRL_C = 3;

export function listenForStop(): AbortSignal {
  const stop = new AbortController();
  const asked = (): void => {
    // Asked twice: somebody is in a hurry. Nothing is lost; the next worker takes the open orders over.
    if (stop.signal.aborted) process.exit(130);
    stop.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, asked);
  const { stdin, stdout } = process;
  if (stdin.isTTY && stdout.isTTY) {
    // Node.js gives the terminal back as it was when the process exits.
    stdin.setRawMode(true);
    stdin.on("data", (keys: Buffer) => {
      if (keys.includes(CTRL_C)) asked();
    });
  }
  return stop.signal;
}
