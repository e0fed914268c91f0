/** Open sagas that no definition of this process can run: a worker that begins names them in its log. */
import type { Registry } from "../sagas/define/registry.ts";
import { openKinds } from "../sagas/read/figures.ts";
import type { Database } from "../storage/database.ts";
import { retrying } from "../storage/read/reader.ts";
import type { Notices } from "./notices.ts";

/** Open sagas of a version that is not registered here are left alone. */
export async function warnOfUnknown(db: Database, registry: Registry, notices: Notices): Promise<void> {
  for (const { name, version, sagas } of await openKinds(retrying(db))) {
    if (!registry.get(name, version)) notices.unknownKind(name, version, sagas);
  }
}
