/**
 * Every connection that the sender makes is led to the sink, wherever it was meant to go. So a form that slipped
 * through would be seen there, whether or not this machine could have reached its target.
 */
import { connect } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { AmendsError } from "../../../src/core/errors.ts";
import { virtualClock } from "amends/testing";
import { readNetworks } from "../../../src/webhooks/http/address.ts";
import { Connector, type Resolve } from "../../../src/webhooks/http/connector.ts";
import { Trouble } from "../../../src/webhooks/http/trouble.ts";
import type { SenderOptions } from "../../../src/webhooks/http/send.ts";
import { receiver, sink } from "./support/receivers.ts";
import { LOOPBACK, message, sender, turn } from "./support/senders.ts";
import { CORPUS } from "./support/ssrf-corpus.ts";

/** A sender for which all the world is the sink. */
async function trapped(options: SenderOptions = {}) {
  const trap = await sink();
  const asked: string[] = [];
  const made = sender(options, ({ host }) => {
    asked.push(host ?? "");
    return connect(trap.port, "127.0.0.1");
  });
  return { trap, asked, sender: made };
}

describe("the guard", () => {
  it("[W-18] knows more than two hundred forms", () => {
    expect(new Set(CORPUS.map(({ url, answer }) => JSON.stringify([url, answer]))).size).toBeGreaterThan(350);
  });

  it("[W-18] makes no connection for any of them, and says why", async () => {
    let answer: readonly string[] = [];
    const resolve = (name: string) => Promise.resolve(name === "receiver.example" ? answer : []);
    const { trap, asked, sender: guarded } = await trapped({ resolve });
    const wrong: unknown[] = [];
    for (const { url, code, answer: given } of CORPUS) {
      answer = given ?? ["93.184.216.34"];
      const result = await guarded.send(message(url));
      if (result.ok || result.code !== code) wrong.push({ url, given, expected: code, found: result.code });
    }
    expect(wrong).toEqual([]);
    expect({ asked, connections: trap.connections() }).toEqual({ asked: [], connections: 0 });
  });

  it("[W-18] refuses at the door what needs no resolving to be refused", () => {
    const guarded = sender({});
    for (const { url, code } of CORPUS.filter(({ answer }) => answer === undefined)) {
      expect([url, refusal(() => guarded.checkUrl(url))]).toEqual([url, code]);
    }
  });

  it("[W-18] lets plain URLs of public receivers pass", () => {
    const guarded = sender({});
    const plain = [
      "https://receiver.example",
      "https://receiver.example:443/",
      "https://receiver.example:8443/hook?x=1&y=%20",
      "HTTPS://RECEIVER.EXAMPLE/Hook",
      "https://receiver.example./",
      "https://receiver.example/@user/a:b?to=http://127.0.0.1@x",
      "https://xn--mnchen-3ya.example/",
      "https://münchen.example/straße",
      "https://127.0.0.1.example.org/",
      "https://8.8.8.8/hook",
      "https://[2606:4700::1111]/hook",
      "https://localhost/hook", // a name like any other: what it leads to is judged when it is resolved
    ];
    for (const url of plain) expect([url, refusal(() => guarded.checkUrl(url))]).toEqual([url, undefined]);
  });

  it("[W-18] the sink sees what is let through: a public address is dialled", async () => {
    const { trap, asked, sender: guarded } = await trapped();
    const result = await guarded.send(message("https://93.184.216.34/hook"));
    // It arrived at the sink, which is not the address that was judged, so nothing was sent.
    expect(result.code).toBe("address_refused");
    expect({ asked, connections: trap.connections() }).toEqual({ asked: ["93.184.216.34"], connections: 1 });
  });

  it("[W-18] where the connection arrived is judged again before a byte is sent", async () => {
    let requests = 0;
    const inside = await receiver((_request, response) => {
      requests++;
      response.end();
    });
    const astray = sender({ allowHttp: true, resolve: () => Promise.resolve(["93.184.216.34"]) }, () =>
      connect(inside.port, "127.0.0.1"),
    );
    expect((await astray.send(message("http://receiver.example/"))).code).toBe("address_refused");
    expect([inside.connections(), requests]).toEqual([1, 0]);
  });

  it("[W-18] whoever connects judges addresses in place of names, too, and does not rely on the URL's check", async () => {
    const inside = await sink();
    const codes: unknown[] = [];
    for (const hostname of ["127.0.0.1", "10.0.0.1", "::1", "::ffff:127.0.0.1"]) {
      const connector = new Connector({
        open: readNetworks([], "allowNetworks"),
        connectMs: 5_000,
        clock: virtualClock(),
        dial: () => connect(inside.port, "127.0.0.1"),
      });
      await new Promise<void>((resolve) => {
        connector.connect({ hostname, protocol: "http:", port: "80" }, (...[error]) => {
          codes.push(error instanceof Trouble ? error.code : error);
          resolve();
        });
      });
    }
    expect(new Set(codes)).toEqual(new Set(["address_refused"]));
    expect(inside.connections()).toBe(0);
  });

  it("[W-18] a name that is public at first and private later is refused then (rebinding)", async () => {
    const inside = await sink();
    const answers = [["127.0.0.1"], ["10.0.0.1"], ["127.0.0.1", "93.184.216.34"]];
    const resolve = vi.fn<Resolve>(() => Promise.resolve(answers.shift() ?? []));
    const guarded = sender({ allowHttp: true, allowPorts: "any", allowNetworks: ["127.0.0.1"], resolve });
    const url = `http://receiver.example:${inside.port}/`;
    expect((await guarded.send(message(url))).ok).toBe(true);
    expect(resolve).toHaveBeenCalledTimes(1);
    await turn();
    // While the connection lives nobody asks again: it cannot have moved.
    expect((await guarded.send(message(url))).ok).toBe(true);
    expect([resolve.mock.calls.length, inside.connections()]).toEqual([1, 1]);

    const other = sender({ allowHttp: true, allowPorts: "any", allowNetworks: ["127.0.0.1"], resolve });
    expect((await other.send(message(url))).code).toBe("address_refused");
    expect([resolve.mock.calls.length, inside.connections()]).toEqual([2, 1]);
  });

  it("[W-18] one lookup decides: what is connected to is what was judged", async () => {
    const inside = await sink();
    const answers = [["127.0.0.1"], ["127.0.0.1"]];
    const resolve = vi.fn<Resolve>(() => Promise.resolve(answers.shift() ?? ["10.0.0.1"]));
    const guarded = sender({ ...LOOPBACK, resolve });
    expect((await guarded.send(message(`http://no-such-name.invalid:${inside.port}/`))).ok).toBe(true);
    expect(resolve).toHaveBeenCalledTimes(1);
  });

  it("[W-17][W-18] a redirect to the inside is a failure, and nobody goes there", async () => {
    const inside = await sink();
    for (const status of [300, 301, 302, 303, 304, 305, 307, 308]) {
      const redirecting = await receiver((_request, response) =>
        response.writeHead(status, { location: `http://127.0.0.1:${inside.port}/latest/meta-data` }).end(),
      );
      const result = await sender().send(message(`http://127.0.0.1:${redirecting.port}/`));
      expect(result).toMatchObject({ ok: false, code: "redirect", status });
    }
    expect(inside.connections()).toBe(0);
  });

  it("[W-18] proxies of the environment are not asked", async () => {
    const proxy = await sink();
    const real = await receiver((_request, response) => response.end());
    const names = [
      "http_proxy",
      "https_proxy",
      "all_proxy",
      "HTTP_PROXY",
      "HTTPS_PROXY",
      "ALL_PROXY",
      "NODE_USE_ENV_PROXY",
    ];
    for (const name of names)
      vi.stubEnv(name, name === "NODE_USE_ENV_PROXY" ? "1" : `http://127.0.0.1:${proxy.port}`);
    try {
      expect((await sender().send(message(`http://127.0.0.1:${real.port}/`))).ok).toBe(true);
    } finally {
      vi.unstubAllEnvs();
    }
    expect([real.connections(), proxy.connections()]).toEqual([1, 0]);
  });

  it("[W-18] names that the platform itself leads to loopback are refused, in every spelling", async () => {
    const inside = await sink();
    const guarded = sender({ allowHttp: true, allowPorts: "any" });
    for (const name of ["localhost", "LOCALHOST", "localhost.", "LocalHost", "%6cocalhost", "ｌocalhost"]) {
      const { ok, code } = await guarded.send(message(`http://${name}:${inside.port}/`));
      expect([name, ok, ["address_refused", "dns_failed"].includes(code)]).toEqual([name, false, true]);
    }
    expect(inside.connections()).toBe(0);
  });
});

function refusal(call: () => void): unknown {
  try {
    call();
  } catch (error) {
    return error instanceof AmendsError && error.code === "BAD_URL" ? error.details["refusal"] : error;
  }
  return undefined;
}
