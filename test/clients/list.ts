/** The clients of the suite. */
import type { TestClient } from "./client.ts";
import { onDrizzlePg, onDrizzlePostgresJs } from "./clients/drizzle.ts";
import { onKnex } from "./clients/knex.ts";
import { onKysely } from "./clients/kysely.ts";
import { onMikroOrm } from "./clients/mikro-orm.ts";
import { onPg } from "./clients/pg.ts";
import { onPostgresJs } from "./clients/postgres-js.ts";
import { onPrisma } from "./clients/prisma.ts";
import { onSequelize } from "./clients/sequelize.ts";
import { onTypeorm } from "./clients/typeorm.ts";

export const CLIENTS: readonly TestClient[] = [
  onPg,
  onPostgresJs,
  onDrizzlePg,
  onDrizzlePostgresJs,
  onKysely,
  onKnex,
  onTypeorm,
  onPrisma,
  onMikroOrm,
  onSequelize,
];
