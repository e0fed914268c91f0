// openworkflow asks for node:sqlite by name; where Node.js has none, the package with the same API answers in its place.
import Module from "node:module";
import { BackendSqlite } from "openworkflow/sqlite";
import { assureDurable, sqliteModule } from "../sqlite.mjs";
import { openWorkflow } from "./openworkflow.mjs";

export async function open({ file, lanes }) {
  const sqlite = await sqliteModule();
  const load = Module._load;
  Module._load = (request, ...rest) => (request === "node:sqlite" ? sqlite : load(request, ...rest));
  const backend = BackendSqlite.connect(file);
  assureDurable(backend.db);
  return openWorkflow(backend, lanes);
}
