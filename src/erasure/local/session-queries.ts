/** Statements about the caller's own transaction and connection. */
import { flag } from "../../storage/column.ts";
import { raw, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";

/** SQLite: overwrites deleted rows with zeros. Returns the effective setting. */
export function setSecureDelete(): Sql {
  return raw("pragma secure_delete = on");
}

export const SECURE_DELETE: Projection<{ readonly isOn: boolean }> = projection({
  isOn: flag("secure_delete"),
});
