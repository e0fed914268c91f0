import { BackendPostgres } from "openworkflow/postgres";
import { openWorkflow } from "./openworkflow.mjs";

export async function open({ url, lanes }) {
  return openWorkflow(await BackendPostgres.connect(url), lanes);
}
