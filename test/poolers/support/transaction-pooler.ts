/**
 * A pooler of the protocol, small and strict: every transaction goes to another connection of the server, as PgBouncer does it in
 * transaction mode at worst. It refuses or ignores startup parameters, keeps no prepared statement for its client, and delivers no
 * notification. What a session of the server keeps is passed on to the next client, as in the real one.
 */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import pg from "pg";
import { errorResponse, frames, parametersOf, READY, WELCOME } from "./messages.ts";

export interface Habits {
  /** Of startup parameters that a pooler does not know. Default: refused, as by PgBouncer. */
  readonly parameters?: "refused" | "ignored";
  /** Of LISTEN. Default: accepted, and never heard of again, as by PgBouncer. */
  readonly listen?: "accepted" | "refused";
}

export interface Pooler {
  readonly name: string;
  /** The URL that leads to the same database through the pooler. */
  through(url: string): string;
  /** Ends the pooler and its connections, and starts it again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface TestPooler extends Pooler {
  /** Transactions go to this server from now on. The clients' connections stay. */
  leadTo(server: string): void;
  /** How many connections of the server the transactions of each client went to; most first. */
  spread(): readonly number[];
}

/** What every pooler passes on or knows itself. */
const KNOWN = new Set(["user", "database", "application_name", "client_encoding", "datestyle", "timezone"]);
const CONNECTIONS = 3;

interface Backend {
  readonly client: pg.Client;
  readonly socket: Socket;
  onFrame: ((frame: Buffer) => void) | undefined;
}

class Backends {
  readonly #url: string;
  /** The one that was idle for longest is lent first, so that no client gets the same one twice. */
  readonly #idle: Backend[] = [];
  readonly #all = new Set<Backend>();
  readonly #waiting: ((backend: Backend) => void)[] = [];
  #count = 0;

  constructor(url: string) {
    this.#url = url;
  }

  async take(): Promise<Backend> {
    if (this.#count < CONNECTIONS) {
      this.#count++;
      return this.#open();
    }
    return this.#idle.shift() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  giveBack(backend: Backend): void {
    backend.onFrame = undefined;
    const next = this.#waiting.shift();
    if (next) next(backend);
    else this.#idle.push(backend);
  }

  /** A connection whose transaction was cut off is of no use any more. */
  drop(backend: Backend): void {
    this.#all.delete(backend);
    this.#count--;
    backend.socket.destroy();
    const next = this.#waiting.shift();
    if (next) void this.#openFor(next).catch(() => undefined);
  }

  async #openFor(next: (backend: Backend) => void): Promise<void> {
    next(await this.take());
  }

  close(): void {
    for (const { socket } of this.#all) socket.destroy();
  }

  /** The driver signs in; from then on its socket carries the clients' messages. */
  async #open(): Promise<Backend> {
    const client = new pg.Client(this.#url);
    client.on("error", () => undefined);
    await client.connect();
    const { stream: socket } = (client as unknown as { connection: { stream: Socket } }).connection;
    socket.removeAllListeners("data");
    const backend: Backend = { client, socket, onFrame: undefined };
    socket.on(
      "data",
      frames((frame) => backend.onFrame?.(frame)),
    );
    this.#all.add(backend);
    return backend;
  }
}

export async function startTestPooler(server: string, habits: Habits = {}): Promise<TestPooler> {
  const { parameters = "refused", listen = "accepted" } = habits;
  const clients = new Set<Socket>();
  const used: Set<Backend>[] = [];
  let target = new URL(server);
  let databases = new Map<string, Backends>();
  const backendsOf = (database: string): Backends => {
    const url = new URL(target);
    url.pathname = `/${database}`;
    const known = databases.get(database) ?? new Backends(url.href);
    databases.set(database, known);
    return known;
  };

  const serve = (socket: Socket): void => {
    clients.add(socket);
    socket.setNoDelay(true);
    const seen = new Set<Backend>();
    used.push(seen);
    let database: string | undefined;
    let backends: Backends | undefined;
    let backend: Backend | undefined;
    let asked = false;
    /** Messages that wait for a connection of the server. */
    let held: Buffer[] = [];
    /** Answers of the server that end an exchange, still to come. */
    let due = 0;

    const onAnswer = (frame: Buffer): void => {
      const [type] = frame.toString("latin1", 0, 1);
      if (type === "A") return; // a notification, for nobody
      socket.write(frame);
      if (type !== "Z") return;
      due--;
      if (due > 0 || frame.toString("latin1", 5, 6) !== "I" || !backend) return;
      backends?.giveBack(backend);
      backend = undefined;
    };
    const send = (frame: Buffer): void => {
      const type = frame.toString("latin1", 0, 1);
      if (type === "Q" || type === "S") due++;
      backend?.socket.write(frame);
    };
    const lend = async (name: string): Promise<void> => {
      asked = true;
      backends = backendsOf(name);
      const taken = await backends.take();
      asked = false;
      if (socket.destroyed) return backends.drop(taken);
      backend = taken;
      seen.add(taken);
      taken.onFrame = onAnswer;
      for (const frame of held.splice(0)) send(frame);
    };
    const onMessage = (frame: Buffer): void => {
      const type = frame.toString("latin1", 0, 1);
      if (type === "X") return void socket.end();
      if (listen === "refused" && type === "Q" && /^listen/i.test(frame.toString("utf8", 5)))
        return void socket.write(Buffer.concat([errorResponse("0A000", "LISTEN is not supported"), READY]));
      if (backend) return send(frame);
      held.push(frame);
      if (!asked && database !== undefined) void lend(database).catch(() => socket.destroy());
    };
    const onStartup = (given: ReadonlyMap<string, string>): boolean => {
      const strange = [...given.keys()].find((name) => !KNOWN.has(name.toLowerCase()));
      if (strange !== undefined && parameters === "refused") {
        socket.end(errorResponse("08P01", `unsupported startup parameter: ${strange}`));
        return false;
      }
      database = given.get("database") ?? "postgres";
      socket.write(WELCOME);
      return true;
    };

    let read: ((data: Buffer) => void) | undefined;
    socket.on("data", (data: Buffer) => {
      if (read) return read(data);
      const given = parametersOf(data);
      if (onStartup(given)) read = frames(onMessage);
    });
    socket
      .on("error", () => undefined)
      .on("close", () => {
        clients.delete(socket);
        held = [];
        if (backend) backends?.drop(backend);
        backend = undefined;
      });
  };

  const listener = createServer(serve).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const forget = (): void => {
    for (const backends of databases.values()) backends.close();
    databases = new Map();
  };
  const restart = async (): Promise<void> => {
    for (const socket of clients) socket.destroy();
    forget();
  };
  return {
    name: "a pooler of the tests",
    through: (url) => {
      const through = new URL(url);
      through.host = `127.0.0.1:${port}`;
      return through.href;
    },
    restart,
    leadTo: (other) => {
      target = new URL(other);
      databases = new Map();
    },
    spread: () => used.map((backends) => backends.size).toSorted((a, b) => b - a),
    stop: async () => {
      await restart();
      listener.close();
    },
  };
}
