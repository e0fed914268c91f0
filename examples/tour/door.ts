/** The console on this machine, and its address with a token that works as long as the tour runs. */
import { randomBytes } from "node:crypto";
import { createConsole, type Console, type ConsoleServer } from "amends/console";
import type { Shop } from "./shop/shop.ts";

export interface Door {
  /** The address that signs its visitor in. */
  readonly signInUrl: string;
  /** Set where the wanted port was taken, and another one is used. */
  readonly movedFrom: number | undefined;
  /** The address of one of its pages, for a browser that is signed in. */
  page(path: string): string;
  /** Calls the console's API, as its pages do. */
  call(method: "GET" | "POST", path: string, body?: object): Promise<unknown>;
  close(): Promise<void>;
}

export interface DoorOptions {
  readonly port: number;
  /** Where the built pages are, if not where the build puts them. */
  readonly assets: string | undefined;
}

/** The ports after the wanted one that are tried before any will do. */
const NEIGHBOURS = 9;

export async function openDoor({ amends }: Shop, { port, assets }: DoorOptions): Promise<Door> {
  const token = randomBytes(24).toString("base64url");
  const console = createConsole(amends, {
    tokens: [{ name: "you", roles: ["read", "operate", "reveal"], token }],
    ...(assets !== undefined && { assets }),
  });
  const server = await listen(console, port);
  return {
    signInUrl: `${server.url}#token=${token}`,
    movedFrom: port === 0 || new URL(server.url).port === String(port) ? undefined : port,
    close: () => server.close(),
    page: (path) => `${server.url}#/${path}`,
    call: async (method, path, body) => {
      const response = await fetch(`${server.url}api/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body && { "content-type": "application/json", "x-amends-console": "1" }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return response.json();
    },
  };
}

async function listen(console: Console, wanted: number): Promise<ConsoleServer> {
  const ports = wanted === 0 ? [] : Array.from({ length: NEIGHBOURS + 1 }, (_, index) => wanted + index);
  for (const port of ports) {
    const server = await console.listen({ port }).catch((error: NodeJS.ErrnoException) => {
      // In use, or not allowed: the next one may be free.
      if (error.code === "EADDRINUSE" || error.code === "EACCES") return undefined;
      throw error;
    });
    if (server) return server;
  }
  return console.listen({ port: 0 });
}
