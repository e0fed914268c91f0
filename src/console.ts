/** The console: an HTTP API and pages on which people see and steer everything. */
import { Console } from "./console/console.ts";
import type { ConsoleOptions } from "./console/options.ts";
import type { Amends } from "./operate/amends.ts";

/**
 * `createConsole(amends).listen()` starts a server on this machine; `console.fetch` and `console.handler` mount it in
 * one that you have.
 */
export function createConsole<Tx>(amends: Amends<Tx>, options: ConsoleOptions = {}): Console {
  return new Console(amends, options);
}

export type { Console, InviteOptions } from "./console/console.ts";
export type { ConsoleServer, ListenOptions } from "./console/http/node-http.ts";
export type { ConsoleOptions } from "./console/options.ts";
export type { Operator } from "./console/session/operator.ts";
export type { ConsoleToken } from "./console/session/tokens.ts";
export type { Role } from "./console/contract.ts";
