/** A TCP proxy in front of a real server, whose connections can fall silent: they stay open, and nothing comes through. */
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { once } from "node:events";

export interface Proxy {
  /** The same address as the server's, by way of the proxy. */
  readonly url: string;
  /** Every connection that is open now swallows what is sent on it, for ever. New ones work. */
  freeze(): void;
  /** Cuts every connection, and leads new ones to this server. */
  leadTo(server: string): void;
  /** Leads new connections to this server; the others go on. */
  leadNew(server: string): void;
  /** New connections are accepted and swallow everything as well, until told otherwise. */
  freezeNew(isFrozen: boolean): void;
  /** Everything falls silent, for ever, as soon as a client sends this text. Resolves then. */
  freezeAt(text: string): Promise<void>;
  close(): Promise<void>;
}

export async function proxyTo(server: string): Promise<Proxy> {
  let target = new URL(server);
  const pairs = new Map<Socket, Socket>();
  let isFrozen = false;
  let trigger: { readonly text: string; onFrozen(): void } | undefined;
  const silence = (socket: Socket): void => {
    const other = pairs.get(socket);
    socket.unpipe();
    other?.unpipe();
    socket.resume();
    other?.resume();
  };
  const freeze = (): void => [...pairs.keys()].forEach(silence);
  // A peer that fell silent does not answer a goodbye either.
  const listener: Server = createServer({ allowHalfOpen: true }, (socket) => {
    const other = createConnection({ port: Number(target.port), host: target.hostname, allowHalfOpen: true });
    pairs.set(socket, other);
    const end = (): void => {
      pairs.delete(socket);
      socket.destroy();
      other.destroy();
    };
    for (const one of [socket, other]) one.on("error", end).on("close", end);
    socket.on("data", (chunk) => {
      if (trigger === undefined || !chunk.includes(trigger.text)) return;
      isFrozen = true;
      freeze();
      trigger.onFrozen();
    });
    socket.pipe(other);
    other.pipe(socket);
    if (isFrozen) silence(socket);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = new URL(server);
  url.hostname = "127.0.0.1";
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    freeze,
    freezeAt: (text) => new Promise((onFrozen) => void (trigger = { text, onFrozen })),
    leadNew: (other) => void (target = new URL(other)),
    leadTo: (other) => {
      target = new URL(other);
      for (const socket of pairs.keys()) socket.destroy();
    },
    freezeNew: (now) => void (isFrozen = now),
    close: async () => {
      for (const socket of pairs.keys()) socket.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}
