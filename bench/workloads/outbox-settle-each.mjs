import { drainOnPostgres } from "../trial.mjs";

export const name = "outbox-settle-each";

/** A rate needs no 100,000 of these. */
export const run = (context) => drainOnPostgres(context, name, context.quick ? 2_000 : 10_000);
