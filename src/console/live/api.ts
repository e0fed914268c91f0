/** GET api/live: server-sent events. A browser that does not read is let go, so that nothing gathers for it. */
import { answer, Refused } from "../http/answer.ts";
import type { Live, LiveEvent } from "./live.ts";
import type { Clock } from "../../storage/clock.ts";
import { text } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import type { Sessions } from "../session/sessions.ts";

const HEARTBEAT_MS = 15_000;
const LISTENERS_MAX = 1_000;
/** With this many unread bytes the browser counts as gone, and its connection is closed. */
const UNREAD_MAX = 1_048_576;

export interface LiveTools {
  readonly live: Live;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly sessions: Sessions;
}

export function liveRoutes(tools: LiveTools): readonly Route[] {
  const { live, closing, sessions } = tools;
  return [
    route({
      method: "GET",
      path: "/api/live",
      access: "read",
      summary: "What changes, as server-sent events.",
      answers: "text/event-stream",
      query: { saga: text(255) },
      handle: async ({ query, request, session }) => {
        if (live.listeners >= LISTENERS_MAX) {
          throw new Refused(503, { code: "TOO_MANY", message: "Too many browsers are connected." });
        }
        const lastId = request.headers.get("last-event-id")?.slice(0, 100);
        const signals = [request.signal, closing];
        // A stream does not outlive its session. While the database does not answer, nothing is sent either.
        const isOver = async (): Promise<boolean> =>
          session !== undefined && !(await sessions.isCurrent(session).catch(() => true));
        const stream = open(tools, query.saga, lastId, { signals, isOver });
        return answer(stream, 200, {
          "content-type": "text/event-stream; charset=utf-8",
          "x-accel-buffering": "no",
        });
      },
    }),
  ];
}

function open(
  { live, clock }: LiveTools,
  saga: string | undefined,
  lastId: string | undefined,
  { signals, isOver }: { readonly signals: readonly AbortSignal[]; readonly isOver: () => Promise<boolean> },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let end: () => void = () => undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let over = false;
        let unheard: () => void = () => undefined;
        let beat: () => void = () => undefined;
        end = () => {
          if (over) return;
          over = true;
          unheard();
          beat();
          for (const signal of signals) signal.removeEventListener("abort", close);
        };
        const close = (): void => {
          if (over) return;
          end();
          controller.close();
        };
        const write = (piece: string): void => {
          if (over) return;
          if ((controller.desiredSize ?? 0) < -UNREAD_MAX) return close();
          controller.enqueue(encoder.encode(piece));
        };
        const beating = (): void => {
          write(": still here\n\n");
          beat = clock.after(HEARTBEAT_MS, beating);
          void isOver().then((ended) => ended && close());
        };
        for (const signal of signals) signal.addEventListener("abort", close, { once: true });
        write("retry: 2000\n\n");
        unheard = live.listen({ saga, send: (event) => write(frame(event, saga)) }, lastId);
        beat = clock.after(HEARTBEAT_MS, beating);
        if (signals.some((signal) => signal.aborted)) close();
      },
      cancel: () => end(),
    },
    { highWaterMark: 0, size: (chunk) => chunk?.byteLength ?? 0 },
  );
}

/** Sends a browser only the saga that it watches. JSON contains no line ends. */
function frame({ id, name, data }: LiveEvent, saga: string | undefined): string {
  const sent = "watched" in data ? { ...data, watched: data.watched.filter((one) => one.id === saga) } : data;
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(sent)}\n\n`;
}
