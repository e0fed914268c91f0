import { PrismaPg } from "@prisma/adapter-pg";
import { prisma as joinPrisma } from "amends/prisma";
import { testClient, type TestClient } from "../client.ts";
import { PrismaClient, type Prisma } from "../prisma/generated/client.ts";

export const onPrisma: TestClient = testClient<Prisma.TransactionClient>("prisma", async (url, max) => {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max }) });
  const joins = joinPrisma(prisma);
  return {
    joins,
    kind: joins,
    transaction: (work) => prisma.$transaction(work, { maxWait: 30_000, timeout: 30_000 }),
    async nested(tx, work) {
      await tx.$executeRawUnsafe("savepoint inner_work");
      try {
        return await work(tx);
      } catch (error) {
        await tx.$executeRawUnsafe("rollback to savepoint inner_work");
        throw error;
      }
    },
    write: (tx, text) => tx.note.create({ data: { text } }),
    async roots() {
      let ended: unknown;
      await prisma.$transaction(async (tx) => void (ended = tx));
      return { prisma, ended };
    },
    close: () => prisma.$disconnect(),
  };
});
