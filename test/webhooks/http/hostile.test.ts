/** Receivers that hang, flood, lie and vanish. Time is moved by hand: what takes 20 seconds takes none here. */
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { virtualClock, type VirtualClock } from "amends/testing";
import type { SendResult } from "../../../src/webhooks/http/send.ts";
import { rawReceiver, receiver } from "./support/receivers.ts";
import { LOOPBACK, message, sender, until } from "./support/senders.ts";

const KIB = 1024;

/** Sends to a receiver that does this with each connection once the request has come. */
async function sendTo(
  answer: (socket: Socket) => void,
  clock?: VirtualClock,
): Promise<{ result: Promise<SendResult>; arrived: () => boolean; closed: () => boolean }> {
  let arrived = false;
  let closed = false;
  const { port } = await rawReceiver((socket) => {
    socket.once("close", () => (closed = true));
    socket.once("data", () => {
      arrived = true;
      answer(socket);
    });
  });
  const result = sender({ ...LOOPBACK, ...(clock && { clock }) }).send(message(`http://127.0.0.1:${port}/`));
  return { result, arrived: () => arrived, closed: () => closed };
}

const ok = (headers = "", body = ""): string => `HTTP/1.1 200 OK\r\n${headers}\r\n${body}`;

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

/** Each byte in a packet of its own, as far as the kernel allows. */
async function dripping(socket: Socket, text: string): Promise<void> {
  for (const byte of text) {
    await new Promise((resolve) => socket.write(byte, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("hostile receivers", () => {
  it("[W-17] one that never answers is given 20 seconds, then cut off", async () => {
    const clock = virtualClock();
    const { result, arrived, closed } = await sendTo(() => undefined, clock);
    await until(arrived);
    await clock.advance(19_999);
    expect(closed()).toBe(false);
    await clock.advance(1);
    expect(await result).toEqual({ ok: false, code: "timeout", durationMs: 20_000 });
    await until(closed);
  });

  it("[W-17] one that sends its headers a byte a second does not get longer", async () => {
    const clock = virtualClock();
    let peer: Socket | undefined;
    const { result, arrived, closed } = await sendTo((socket) => {
      peer = socket;
      socket.write("HTTP/1.1 200 OK\r\nx-slow: ");
    }, clock);
    await until(arrived);
    for (let second = 0; second < 20; second++) {
      peer?.write("a");
      await clock.advance(1_000);
    }
    expect(await result).toMatchObject({ ok: false, code: "timeout", durationMs: 20_000 });
    await until(closed);
  });

  it("[W-17] a body that drips is left behind after 20 seconds, and the status that came counts", async () => {
    const clock = virtualClock();
    let peer: Socket | undefined;
    const { result, arrived, closed } = await sendTo((socket) => {
      peer = socket;
      socket.write(ok("content-length: 1000\r\n"));
    }, clock);
    await until(arrived);
    for (let second = 0; second < 20; second++) {
      peer?.write("a");
      await clock.advance(1_000);
    }
    const { response, ...rest } = await result;
    expect(rest).toEqual({ ok: true, code: "http_200", status: 200, durationMs: 20_000 });
    expect(response).toMatchObject({ truncated: true, headers: { "content-length": "1000" } });
    expect(response?.body).toMatch(/^a{10,20}$/);
    await until(closed);
  });

  /** Writes without end, and counts the bytes that the connection took. */
  function pour(socket: Socket, piece: string, written: (bytes: number) => void): void {
    const more = (): void => {
      for (let goesOn = true; goesOn && !socket.destroyed;) {
        goesOn = socket.write(piece);
        written(socket.bytesWritten);
      }
      if (!socket.destroyed) socket.once("drain", more);
    };
    more();
  }

  // The clock stands still: an answer that is read until the time is up would never end.
  it("[W-17] of an endless body 16 KiB are kept, no more than the buffers on the way is read, and the connection is cut", async () => {
    let bytes = 0;
    const { result, closed } = await sendTo((socket) => {
      socket.write(ok("content-type: text/plain\r\n"));
      pour(socket, "x".repeat(64 * KIB), (count) => (bytes = count));
    }, virtualClock());
    const { ok: fine, response } = await result;
    expect(fine).toBe(true);
    expect([response?.body.length, response?.truncated]).toEqual([16 * KIB, true]);
    await until(closed);
    // Kernels and streams buffer a few hundred KiB to a few MiB in both directions; gigabytes would follow without a cap.
    expect(bytes).toBeLessThan(16 * KIB * KIB);
  });

  it("[W-17] an endless chunked body of an error is cut as well", async () => {
    const { result, closed } = await sendTo((socket) => {
      socket.write("HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\nretry-after: 7\r\n\r\n");
      pour(socket, `1000\r\n${"y".repeat(4 * KIB)}\r\n`, () => undefined);
    }, virtualClock());
    expect(await result).toMatchObject({
      ok: false,
      code: "http_503",
      retryAfterMs: 7_000,
      response: { truncated: true, body: "y".repeat(16 * KIB) },
    });
    await until(closed);
  });

  it("[W-17] a body of 1 MiB that ends is kept up to 16 KiB, and is told as cut off", async () => {
    const body = "w".repeat(KIB * KIB);
    const { result, closed } = await sendTo(
      (socket) => socket.write(ok(`content-length: ${body.length}\r\n`, body)),
      virtualClock(),
    );
    expect((await result).response).toMatchObject({ body: "w".repeat(16 * KIB), truncated: true });
    await until(closed);
  });

  it("[W-17] exactly 16 KiB are all there, and the connection lives on", async () => {
    const body = "z".repeat(16 * KIB);
    const { result, closed } = await sendTo((socket) =>
      socket.write(ok(`content-length: ${body.length}\r\n`, body)),
    );
    expect((await result).response).toMatchObject({ body, truncated: false });
    expect(closed()).toBe(false);
  });

  it("[W-17] headers beyond 16 KiB end it, in one piece or without end", async () => {
    const large = await sendTo((socket) => socket.write(ok(`x-large: ${"h".repeat(17 * KIB)}\r\n`)));
    expect(await large.result).toMatchObject({ ok: false, code: "headers_too_large" });
    const endless = await sendTo((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const flood = (): void => {
        while (!socket.destroyed && socket.write(`x-more: ${"h".repeat(KIB)}\r\n`));
        if (!socket.destroyed) socket.once("drain", flood);
      };
      flood();
    });
    expect(await endless.result).toMatchObject({ ok: false, code: "headers_too_large" });
    await until(endless.closed);
  });

  it("[W-17] a compressed answer is not unpacked", async () => {
    const bomb = gzipSync(Buffer.alloc(8 * KIB * KIB));
    expect(bomb.length).toBeLessThan(16 * KIB);
    for (const encoding of ["gzip", Array.from({ length: 500 }, () => "gzip").join(", ")]) {
      const { result } = await sendTo((socket) => {
        socket.write(ok(`content-encoding: ${encoding}\r\ncontent-length: ${bomb.length}\r\n`));
        socket.write(bomb);
      });
      expect(await result).toMatchObject({ ok: true, response: { body: "", truncated: false } });
    }
  });

  it.each<[string, (socket: Socket) => void]>([
    ["before its answer", (socket) => socket.write(`${CONTINUE}${ok("content-length: 2\r\n", "ok")}`)],
    [
      "twice, with headers",
      (socket) =>
        socket.write(`${CONTINUE}HTTP/1.1 100 Go on\r\nx-a: b\r\n\r\n${ok("content-length: 2\r\n", "ok")}`),
    ],
    [
      "byte by byte",
      (socket) => {
        socket.setNoDelay(true);
        void dripping(socket, `${CONTINUE}${ok("content-length: 2\r\n", "ok")}`);
      },
    ],
  ])("[W-17] a `100 Continue` that nobody asked for, sent %s, is no failure", async (_, answer) => {
    const { result } = await sendTo(answer);
    expect(await result).toMatchObject({ ok: true, status: 200, response: { body: "ok" } });
  });

  it("[W-17] an answer that contains the words of a `100 Continue` is kept as it is, on a connection that is used again", async () => {
    let requests = 0;
    const { port, connections } = await rawReceiver((socket) =>
      socket.on("data", () => {
        requests++;
        const body = `${requests}${CONTINUE}${CONTINUE}`;
        socket.write(`${CONTINUE}${ok(`content-length: ${body.length}\r\n`)}`);
        socket.write(body);
      }),
    );
    const one = sender(LOOPBACK);
    const answers = [];
    for (let n = 0; n < 6; n++) answers.push(await one.send(message(`http://127.0.0.1:${port}/`)));
    expect(answers.map(({ response }) => response?.body)).toEqual(
      [1, 2, 3, 4, 5, 6].map((n) => `${n}${CONTINUE}${CONTINUE}`),
    );
    expect(connections()).toBeLessThan(6);
  });

  it("[W-17] interim answers are passed over, however many", async () => {
    const { result } = await sendTo((socket) => {
      for (let n = 0; n < 1_000; n++) socket.write("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
      socket.write(ok("content-length: 2\r\n", "ok"));
    });
    expect(await result).toMatchObject({ ok: true, status: 200, response: { body: "ok" } });
  });

  it.each<[string, string, (socket: Socket) => void]>([
    ["connection_lost", "resets the connection", (socket) => socket.resetAndDestroy()],
    ["connection_lost", "closes without a word", (socket) => socket.end()],
    ["connection_lost", "closes within the headers", (socket) => socket.end("HTTP/1.1 200 OK\r\nx-a: ")],
    [
      "connection_lost",
      "switches protocols unasked",
      (socket) => socket.write("HTTP/1.1 101 Sure\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
    ],
    ["response_invalid", "does not speak HTTP", (socket) => socket.write("SSH-2.0-OpenSSH_9.9\r\n\r\n")],
    [
      "response_invalid",
      "answers with a broken header",
      (socket) => socket.write("HTTP/1.1 200 OK\r\nbad\0header: x\r\n\r\n"),
    ],
    [
      "response_invalid",
      "gives two lengths",
      (socket) => socket.write(ok("content-length: 1\r\ncontent-length: 2\r\n", "ab")),
    ],
  ])("[W-17] %s: one that %s", async (code, _what, answer) => {
    const { result } = await sendTo(answer);
    expect(await result).toMatchObject({ ok: false, code });
  });

  it("[W-17] a connection that breaks within the body leaves the status standing", async () => {
    for (const [status, fine] of [
      [200, true],
      [500, false],
    ] as const) {
      const { result } = await sendTo((socket) => {
        socket.write(`HTTP/1.1 ${status} X\r\ncontent-length: 100\r\n\r\nhalf`, () => socket.destroySoon());
      });
      expect(await result).toMatchObject({
        ok: fine,
        code: `http_${status}`,
        response: { body: "half", truncated: true },
      });
    }
  });

  it("[W-17] an answer that nobody asked for is not taken for the next one's", async () => {
    let requests = 0;
    const { port } = await rawReceiver((socket) => {
      socket.on("data", () => {
        const mine = `HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n${++requests}`;
        socket.write(`${mine}HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n`);
      });
    });
    const made = sender();
    for (let n = 1; n <= 5; n++) {
      const result = await made.send(message(`http://127.0.0.1:${port}/`));
      expect(result).toMatchObject({ ok: true, status: 200, response: { body: String(n) } });
    }
  });

  it("[W-17] NUL characters and broken text in an answer become something that can be stored", async () => {
    const { result } = await sendTo((socket) => {
      socket.write(ok("content-length: 6\r\n"));
      socket.write(Buffer.from([0x61, 0x00, 0xff, 0xc3, 0x28, 0x62]));
    });
    expect((await result).response?.body).toBe("a\uFFFD\uFFFD\uFFFD(b");
  });

  it("[W-17] a name that is never resolved, and TLS that never begins, are given 5 seconds", async () => {
    const clock = virtualClock();
    let asked = false;
    const resolve = (): Promise<readonly string[]> => {
      asked = true;
      return new Promise(() => undefined);
    };
    const unresolved = sender({ ...LOOPBACK, clock, resolve }).send(message("https://receiver.example/"));
    await until(() => asked);
    await clock.advance(5_000);
    expect(await unresolved).toEqual({ ok: false, code: "connect_timeout", durationMs: 5_000 });

    let arrived = false;
    const silent = await rawReceiver((socket) => socket.once("data", () => (arrived = true)));
    const stuck = sender({ ...LOOPBACK, clock }).send(message(`https://127.0.0.1:${silent.port}/`));
    await until(() => arrived);
    await clock.advance(5_000);
    expect(await stuck).toEqual({ ok: false, code: "connect_timeout", durationMs: 5_000 });
    await until(() => silent.open() === 0);
  });

  it("[W-17] what waited for a connection until its time was up is never sent", async () => {
    const clock = virtualClock();
    let requests = 0;
    let release = (): void => undefined;
    const { port } = await receiver((request, response) => {
      request.resume();
      requests++;
      release = () => response.end();
    });
    const made = sender({ ...LOOPBACK, clock, connections: 1 });
    const url = `http://127.0.0.1:${port}/`;
    const running = made.send(message(url, { timeoutMs: 60_000 }));
    await until(() => requests === 1);
    const waiting = made.send(message(url));
    await clock.advance(20_000);
    expect(await waiting).toMatchObject({ ok: false, code: "timeout" });
    release();
    expect(await running).toMatchObject({ ok: true });
    const next = made.send(message(url));
    await until(() => requests === 2);
    release();
    expect(await next).toMatchObject({ ok: true });
    expect(requests).toBe(2);
  });
});
