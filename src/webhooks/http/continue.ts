/**
 * Some receivers send an unrequested `100 Continue` before the response. HTTP allows that, but the HTTP client treats
 * it as a broken connection. This file therefore removes it from the bytes that a connection reads, only at the
 * beginning of a response, which is the first data after a request was written.
 */
import type { Socket } from "node:net";

const CONTINUE = /^HTTP\/1\.[01] 100[ \r]/;
/** Enough to tell whether an answer begins with it. */
const STATUS_BYTES = "HTTP/1.1 100 ".length;
/** A longer one is left to the HTTP client, which refuses it. */
const CONTINUE_MAX = 16_384;
const END = "\r\n\r\n";

export function passContinue(socket: Socket): Socket {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  let isBeginning = false;
  let held: Buffer | undefined;
  socket.write = (...given: unknown[]) => {
    isBeginning = true;
    return write(...given);
  };
  socket.read = (size) => {
    if (!isBeginning || size !== undefined) return read(size);
    for (let chunk = read(); chunk !== null; chunk = read()) {
      const answer = withoutContinue(held ? Buffer.concat([held, chunk]) : chunk);
      held = answer.isOpen ? answer.bytes : undefined;
      if (answer.isOpen) continue;
      isBeginning = false;
      return answer.bytes;
    }
    return null;
  };
  return socket;
}

/** What is left after every whole `100 Continue`. It is open if more bytes are needed to tell what follows. */
function withoutContinue(bytes: Buffer): { readonly bytes: Buffer; readonly isOpen: boolean } {
  for (let rest = bytes; ;) {
    if (rest.length < STATUS_BYTES) return { bytes: rest, isOpen: true };
    if (!CONTINUE.test(rest.toString("latin1", 0, STATUS_BYTES))) return { bytes: rest, isOpen: false };
    const end = rest.indexOf(END);
    if (end < 0) return { bytes: rest, isOpen: rest.length <= CONTINUE_MAX };
    rest = rest.subarray(end + END.length);
  }
}
