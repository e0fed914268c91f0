import { BackendPostgres } from "openworkflow/postgres";
import { openWorkflow } from "./openworkflow.mjs";

export async function prepare({ url }) {
  const backend = await BackendPostgres.connect(url);
  await backend.stop();
}

export async function open({ url, concurrency }) {
  return openWorkflow(await BackendPostgres.connect(url, { runMigrations: false }), concurrency);
}
