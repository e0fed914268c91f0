/** The events that steps emit go to the outbox with the line that says so, or not at all. */
import { EMITTED, insertEmitted, type EmittedRow } from "../../outbox/deliveries/emit-queries.ts";
import { bigint, int } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { sql, type Sql } from "../../storage/sql.ts";
import type { Checkpoint, Emission } from "./journal.ts";

/** An event, and the line that it comes with. */
export interface LineEmission extends EmittedRow {
  readonly lineVersion: number;
  readonly lineToken: number;
}

export function lineEmission(line: Checkpoint, { entryId, type, payload, version }: Emission): LineEmission {
  const { sagaId, version: lineVersion, token: lineToken } = line;
  return { entryId, name: type, version, payload, sagaId, lineVersion, lineToken };
}

const LINE_EMISSION = fields<LineEmission>({
  ...EMITTED.shape,
  line_version: int(({ lineVersion }) => lineVersion),
  line_token: bigint(({ lineToken }) => lineToken),
});

/** A worker that lost its saga wrote no line, and emits nothing. */
export function insertEmissions(dialect: Dialect, emissions: readonly LineEmission[]): Sql {
  const isWritten = sql`exists (select 1 from ${dialect.table("saga_logs")} as l
    where l.saga_id = r.saga_id and l.id = r.line_version and l.token = r.line_token)`;
  return insertEmitted(dialect, LINE_EMISSION, emissions, isWritten);
}
