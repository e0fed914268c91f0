/** Server-sent events as they arrive. Ends with the connection, or when the signal fires. */
export interface ServerEvent {
  readonly name: string;
  readonly data: unknown;
}

export async function* sse(response: Response, signal: AbortSignal): AsyncGenerator<ServerEvent, void, void> {
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
  if (!reader) return;
  const leave = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", leave, { once: true });
  const decoder = new TextDecoder();
  let rest = "";
  try {
    while (!signal.aborted) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const frames = rest.split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const event = readFrame(frame);
        if (event) yield event;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}

/** Comments keep the connection open and say nothing. */
function readFrame(frame: string): ServerEvent | undefined {
  const fields = new Map(
    frame
      .split("\n")
      .filter((line) => !line.startsWith(":"))
      .map((line) => {
        const colon = line.indexOf(": ");
        return [line.slice(0, colon), line.slice(colon + 2)] as const;
      }),
  );
  const [name, data] = [fields.get("event"), fields.get("data")];
  return name === undefined || data === undefined ? undefined : { name, data: JSON.parse(data) as unknown };
}
