import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { TLSSocket } from "node:tls";
import { describe, expect, it, vi } from "vitest";
import type { SenderOptions } from "../../../src/webhooks/http/send.ts";
import { selfSigned } from "./support/certificate.ts";
import { rawReceiver, receiver } from "./support/receivers.ts";
import { LOOPBACK, message, sender, until } from "./support/senders.ts";

const toLoopback: SenderOptions = {
  ...LOOPBACK,
  allowHttp: false,
  resolve: () => Promise.resolve(["127.0.0.1"]),
};

describe("TLS", () => {
  it("[W-18] goes to the checked address under the name of the URL", async () => {
    const certificate = selfSigned("receiver.example");
    const seen: unknown[] = [];
    const { port } = await receiver((request, response) => {
      seen.push([(request.socket as TLSSocket & { servername?: string }).servername, request.headers.host]);
      response.end();
    }, certificate);
    const made = sender({ ...toLoopback, ca: certificate.cert });
    expect(await made.send(message(`https://receiver.example:${port}/`))).toMatchObject({ ok: true });
    expect(await made.send(message(`https://Receiver.Example.:${port}/`))).toMatchObject({ ok: true });
    expect(seen).toEqual([
      ["receiver.example", `receiver.example:${port}`],
      ["receiver.example", `receiver.example.:${port}`],
    ]);
  });

  it("[W-18] an address in place of a name must stand in the certificate, and is not sent as a server name", async () => {
    const certificate = selfSigned("127.0.0.1");
    const names: unknown[] = [];
    const { port } = await receiver((request, response) => {
      names.push((request.socket as TLSSocket & { servername?: string }).servername);
      response.end();
    }, certificate);
    const made = sender({ ...toLoopback, ca: [certificate.cert] });
    expect(await made.send(message(`https://127.0.0.1:${port}/`))).toMatchObject({ ok: true });
    expect(names).toEqual([false]);
  });

  it("[W-18] a certificate that is not trusted, or of another name, is refused before anything is sent", async () => {
    let requests = 0;
    const certificate = selfSigned("receiver.example");
    const { port } = await receiver(() => requests++, certificate);
    const untrusting = sender(toLoopback);
    expect(await untrusting.send(message(`https://receiver.example:${port}/`))).toMatchObject({
      code: "tls_failed",
    });
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    const careless = await untrusting.send(message(`https://receiver.example:${port}/`));
    vi.unstubAllEnvs();
    expect(careless).toMatchObject({ code: "tls_failed" });
    const trusting = sender({ ...toLoopback, ca: certificate.cert });
    expect(await trusting.send(message(`https://other.example:${port}/`))).toMatchObject({
      code: "tls_failed",
    });
    expect(await trusting.send(message(`https://127.0.0.1:${port}/`))).toMatchObject({ code: "tls_failed" });
    expect(requests).toBe(0);
  });

  it("[W-17] one that speaks no TLS, or breaks off, is tls_failed", async () => {
    const plain = await receiver((_request, response) => response.end());
    expect(await sender(toLoopback).send(message(`https://127.0.0.1:${plain.port}/`))).toMatchObject({
      code: "tls_failed",
    });
    for (const leave of ["end", "resetAndDestroy"] as const) {
      const { port } = await rawReceiver((socket) => socket.once("data", () => socket[leave]()));
      expect(await sender(toLoopback).send(message(`https://127.0.0.1:${port}/`))).toMatchObject({
        code: "tls_failed",
      });
    }
  });

  it(
    "[W-17] hundreds of failed handshakes leave no memory and no connection behind",
    { timeout: 120_000 },
    async () => {
      const server = await receiver((_request, response) => response.end(), selfSigned("other.example"));
      const made = sender(toLoopback);
      const codes = new Set<string>();
      const fail = async (times: number): Promise<void> => {
        for (let n = 0; n < times; n += 10) {
          const batch = Array.from({ length: 10 }, () =>
            made.send(message(`https://receiver.example:${server.port}/`)),
          );
          for (const { code } of await Promise.all(batch)) codes.add(code);
        }
      };
      await fail(100);
      const before = await heapBytes();
      await fail(500);
      const grownBytes = (await heapBytes()) - before;
      expect([...codes]).toEqual(["tls_failed"]);
      // A leak of one connection each would be tens of kilobytes, five hundred times.
      expect(grownBytes).toBeLessThan(2 * 1024 * 1024);
      await until(() => server.open() === 0);
    },
  );
});

/** What is alive after everything that can be collected has been. */
async function heapBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let n = 0; n < 3; n++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    collect();
  }
  return process.memoryUsage().heapUsed;
}
