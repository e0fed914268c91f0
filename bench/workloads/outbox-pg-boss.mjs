import { drainOnPostgres } from "../trial.mjs";

export const name = "outbox-pg-boss";

export const run = (context) => drainOnPostgres(context, name);
