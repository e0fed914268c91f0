/** The types of `tx`. The compiler is the test: `npm run types` checks this file. */
import { PrismaPg } from "@prisma/adapter-pg";
import type { MikroORM, SqlEntityManager } from "@mikro-orm/postgresql";
import { Amends, saga } from "amends";
import { bunSql as joinBunSql } from "amends/bun-sql";
import { drizzle as joinDrizzle } from "amends/drizzle";
import { knex as joinKnex } from "amends/knex";
import { kysely as joinKysely } from "amends/kysely";
import { mikroOrm as joinMikroOrm } from "amends/mikro-orm";
import { postgres, type Joins } from "amends/postgres";
import { postgresJs as joinPostgresJs } from "amends/postgres-js";
import { prisma as joinPrisma } from "amends/prisma";
import { sequelize as joinSequelize } from "amends/sequelize";
import { typeorm as joinTypeorm } from "amends/typeorm";
import type { SQL, TransactionSQL } from "bun";
import { drizzle } from "drizzle-orm/node-postgres";
import type { Knex } from "knex";
import type { Kysely, Transaction as KyselyTransaction } from "kysely";
import type postgresJs from "postgres";
import type { Sequelize, Transaction as SequelizeTransaction } from "sequelize";
import type { DataSource, EntityManager } from "typeorm";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";
import { PrismaClient, type Prisma } from "./prisma/generated/client.ts";

const order = saga("order", z.object({})).step("one", { act: () => undefined });

/** Never called: the compiler reads it. */
function types(): void {
  const db = drizzle("postgres://localhost/shop");
  const joins = joinDrizzle(db);
  type DrizzleTx = Parameters<Parameters<typeof db.transaction>[0]>[0];
  expectTypeOf(joins).toEqualTypeOf<Joins<DrizzleTx>>();
  const amends = new Amends({
    database: postgres({ url: "postgres://localhost/shop", joins }),
    sagas: [order],
  });
  void db.transaction((tx) => amends.start(order, {}, { id: "o-1", tx }));
  void db.transaction((tx) => amends.webhooks.publish({ type: "order.placed", data: {} }, { tx }));
  void db.transaction((tx) => amends.erasure.eraseSubject("ann", [], { tx }));
  // @ts-expect-error a database is no transaction
  void amends.start(order, {}, { tx: db });
  // @ts-expect-error nor is the pool below it
  void amends.start(order, {}, { tx: db.$client });
  void saga("book", z.object({})).step("write", {
    transaction: joins,
    act: ({ tx }) => {
      expectTypeOf(tx).toEqualTypeOf<DrizzleTx>();
    },
  });

  interface Tables {
    notes: { text: string };
  }
  const kysely = null as unknown as Kysely<Tables>;
  expectTypeOf(joinKysely(kysely)).toEqualTypeOf<Joins<KyselyTransaction<Tables>>>();
  const knex = null as unknown as Knex;
  expectTypeOf(joinKnex(knex)).toEqualTypeOf<Joins<Knex.Transaction>>();
  const dataSource = null as unknown as DataSource;
  expectTypeOf(joinTypeorm(dataSource)).toEqualTypeOf<Joins<EntityManager>>();
  const prisma = new PrismaClient({ adapter: new PrismaPg("") });
  expectTypeOf(joinPrisma(prisma)).toEqualTypeOf<Joins<Prisma.TransactionClient>>();
  const sequelize = null as unknown as Sequelize;
  expectTypeOf(joinSequelize(sequelize)).toEqualTypeOf<Joins<SequelizeTransaction>>();
  const sql = null as unknown as postgresJs.Sql;
  expectTypeOf(joinPostgresJs(sql)).toEqualTypeOf<Joins<postgresJs.TransactionSql>>();
  const bun = null as unknown as SQL;
  expectTypeOf(joinBunSql(bun)).toEqualTypeOf<Joins<TransactionSQL>>();
  const bunAmends = new Amends({
    database: postgres({ url: "postgres://localhost/shop", joins: joinBunSql(bun) }),
  });
  // @ts-expect-error a root handle is no transaction
  void bunAmends.start(order, {}, { tx: bun });
  const orm = null as unknown as MikroORM;
  expectTypeOf(joinMikroOrm(orm).tx).toExtend<SqlEntityManager | undefined>();
}

it("[C-01] `tx` has the client's own type, and a root handle does not compile", () => {
  expectTypeOf(types).returns.toEqualTypeOf<void>();
});
