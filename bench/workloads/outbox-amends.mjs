import { drainOnPostgres } from "../trial.mjs";

export const name = "outbox-amends";

export const run = (context) => drainOnPostgres(context, name);
