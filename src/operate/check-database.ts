/** Before a worker begins: the schema fits, and so does the database for each of its duties. */
import type { Duty } from "../runtime/duty.ts";
import type { Registry } from "../sagas/define/registry.ts";
import { openKinds } from "../sagas/read/figures.ts";
import type { Database } from "../storage/database.ts";
import { checkDutyRights } from "../storage/migrations/application-rights.ts";
import { checkSchema } from "../storage/migrations/migrate.ts";
import { retrying } from "../storage/read/reader.ts";
import { answerInTime } from "../storage/retry.ts";
import type { Notices } from "./log/notices.ts";

export interface CheckTools {
  readonly db: Database;
  readonly registry: Registry;
  readonly notices: Notices;
  /** The duty of the sagas of steps. */
  readonly sagas: Duty;
}

export function checkDatabase(tools: CheckTools, duties: readonly Duty[]): Promise<void> {
  return answerInTime(tools.db, check(tools, duties));
}

async function check(tools: CheckTools, duties: readonly Duty[]): Promise<void> {
  const { db, sagas } = tools;
  await checkSchema(db);
  for (const duty of duties) await checkDutyRights(db, duty.name);
  for (const duty of duties) await duty.check?.();
  if (duties.includes(sagas)) await warnOfUnknown(tools);
}

/** Open sagas of a version that is not registered here are left alone. */
async function warnOfUnknown({ db, registry, notices }: CheckTools): Promise<void> {
  for (const { name, version, sagas } of await openKinds(retrying(db))) {
    if (!registry.get(name, version)) notices.unknownKind(name, version, sagas);
  }
}
