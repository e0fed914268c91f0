import { drainOnPostgres } from "../trial.mjs";

export const name = "outbox-calls";

export const run = (context) => drainOnPostgres(context, name);
