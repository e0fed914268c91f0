import { drainOnPostgres } from "../trial.mjs";

export const name = "outbox-graphile-worker";

export const run = (context) => drainOnPostgres(context, name);
