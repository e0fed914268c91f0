/** `amends console`: the web console on a database, without a worker. */
import { command, number, text, type Command } from "../program/command.ts";
import { logLines } from "../terminal/log-lines.ts";
import { CONSOLE_PORT } from "../../console/http/node-http.ts";
import { readHosts, serve } from "../program/service.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { DATABASE, openLocal } from "../source/source.ts";

export const console: Command = command({
  name: "console",
  group: "Run",
  summary: "Serves the web console, and prints its address with a token.",
  about:
    "It needs only a database, no config. The token is that of AMENDS_TOKEN or of the config. Default: a new token, valid until the process ends.",
  options: {
    ...DATABASE,
    port: number("N", `Default: ${CONSOLE_PORT}. 0 takes a free one.`, 0, 65_535),
    host: text("ADDRESS", "Default: 127.0.0.1, which is reachable from this machine only."),
    "allow-host": text("A,B", "Further allowed Host names, if it is reachable from other machines."),
    ...JSON_OUT,
  },
  examples: [
    ["amends console", "of the database in amends.config.ts or DATABASE_URL"],
    ["amends console --database shop.db --port 8080", "of a SQLite file"],
    ["amends console --host 0.0.0.0 --allow-host ops.example.com", "behind a proxy, with AMENDS_TOKEN set"],
  ],
  run: async ({ options, output, world }) => {
    const local = await openLocal(options, world, { logger: logLines(output, world) });
    const wishes = {
      port: options.port,
      host: options.host,
      hosts: readHosts(options["allow-host"]),
      token: undefined,
    };
    return serve(
      local,
      { migrate: false, worker: undefined, console: wishes, deadline: "1s" },
      output,
      world,
    );
  },
});
