/** The few messages of PostgreSQL's protocol that a pooler reads and writes itself. */

/** Cuts a stream of bytes into messages. */
export function frames(onFrame: (frame: Buffer) => void): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (data) => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data]);
    while (rest.length >= 5) {
      const length = rest.readInt32BE(1) + 1;
      if (rest.length < length) return;
      const frame = rest.subarray(0, length);
      rest = rest.subarray(length);
      onFrame(frame);
    }
  };
}

/** The parameters of a startup message, which has no type and comes in one piece. */
export function parametersOf(startup: Buffer): ReadonlyMap<string, string> {
  const texts = startup.toString("utf8", 8).split("\0");
  const given = new Map<string, string>();
  for (let at = 0; at + 1 < texts.length && texts[at] !== ""; at += 2)
    given.set(texts[at] as string, texts[at + 1] as string);
  return given;
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

export function errorResponse(code: string, text: string): Buffer {
  return message("E", Buffer.from(`SERROR\0VERROR\0C${code}\0M${text}\0\0`));
}

/** Ready for a query, outside of a transaction. */
export const READY: Buffer = message("Z", Buffer.from("I"));

/** The client is signed in. */
export const WELCOME: Buffer = Buffer.concat([
  message("R", Buffer.alloc(4)),
  message("S", Buffer.from("client_encoding\0UTF8\0")),
  message("K", Buffer.alloc(8)),
  READY,
]);
