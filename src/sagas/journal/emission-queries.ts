/** The events that steps emit, and the calls that follow ends, go to the outbox with the line that says so, or not at all. */
import {
  EMITTED,
  insertEmitted,
  insertEmittedCalls,
  type EmittedRow,
} from "../../outbox/deliveries/emit-queries.ts";
import { bigint, int } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { sql, type Sql } from "../../storage/sql.ts";
import type { Checkpoint, Emission } from "./journal.ts";

/** An event, and the line that it comes with. */
export interface LineEmission extends EmittedRow {
  readonly lineVersion: number;
  readonly lineToken: number;
  readonly isCall: boolean;
}

export function lineEmission(line: Checkpoint, emission: Emission): LineEmission {
  const { entryId, type, payload, version, isCall = false, limits } = emission;
  const { sagaId, version: lineVersion, token: lineToken } = line;
  return { entryId, name: type, version, payload, sagaId, lineVersion, lineToken, isCall, limits };
}

const LINE_EMISSION = fields<LineEmission>({
  ...EMITTED.shape,
  line_version: int(({ lineVersion }) => lineVersion),
  line_token: bigint(({ lineToken }) => lineToken),
});

/** A worker that lost its saga wrote no line, and emits nothing. */
export function insertEmissions(dialect: Dialect, emissions: readonly LineEmission[]): readonly Sql[] {
  const isWritten = sql`exists (select 1 from ${dialect.table("saga_logs")} as l
    where l.saga_id = r.saga_id and l.id = r.line_version and l.token = r.line_token)`;
  const events = emissions.filter(({ isCall }) => !isCall);
  const calls = emissions.filter(({ isCall }) => isCall);
  return [
    ...(events.length > 0 ? [insertEmitted(dialect, LINE_EMISSION, events, isWritten)] : []),
    ...(calls.length > 0 ? [insertEmittedCalls(dialect, LINE_EMISSION, calls, isWritten)] : []),
  ];
}
