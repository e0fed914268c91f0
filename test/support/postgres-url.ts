/** The server of the run. A suite that another runtime runs gets its URL from the environment: only Vitest injects. */
import * as vitest from "vitest";

export const POSTGRES_URL = "AMENDS_TEST_POSTGRES";

export function postgresUrl(): string {
  return process.env[POSTGRES_URL] ?? vitest.inject("postgresUrl");
}
