/** The same service with TypeORM: orders, sagas and steps commit in transactions of the data source. */
import { randomUUID } from "node:crypto";
import { Inject, Injectable } from "@nestjs/common";
import { Amends, err, ok, saga } from "amends";
import { postgres, type Joins } from "amends/postgres";
import { typeorm } from "amends/typeorm";
import { DataSource, type EntityManager } from "typeorm";
import { z } from "zod";
import { url } from "./database.module.ts";
import { logger } from "./logger.ts";
import { Payments } from "./payments.ts";

export const JOINS = Symbol("joins");

/** `DataSource` comes from TypeOrmModule. */
export const joinsProvider = {
  provide: JOINS,
  inject: [DataSource],
  useFactory: (dataSource: DataSource) => typeorm(dataSource),
};

const placeOrder = (joins: Joins<EntityManager>, payments: Payments) =>
  saga("place-order", z.object({ orderId: z.string(), cents: z.number() }))
    .step("accept", {
      transaction: joins, // `tx` is an entity manager
      act: ({ input, tx }) => setStatus(tx, input.orderId, "accepted"),
      compensate: ({ input, tx }) => setStatus(tx, input.orderId, "declined"),
    })
    .pivot("charge", {
      timeout: "20s",
      act: async ({ input, key, signal }) =>
        (await payments.charge(input.cents, key, signal)) ? ok() : err("card-declined"),
    })
    .step("confirm", {
      transaction: joins,
      act: ({ input, tx }) => setStatus(tx, input.orderId, "paid"),
    });

@Injectable()
export class PlaceOrder {
  readonly saga: ReturnType<typeof placeOrder>;

  constructor(@Inject(JOINS) joins: Joins<EntityManager>, payments: Payments) {
    this.saga = placeOrder(joins, payments);
  }
}

export const amendsProvider = {
  provide: Amends,
  inject: [JOINS, PlaceOrder],
  useFactory: (joins: Joins<EntityManager>, order: PlaceOrder) =>
    new Amends({ database: postgres({ url, joins }), sagas: [order.saga], logger }),
};

@Injectable()
export class OrdersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly amends: Amends<EntityManager>,
    private readonly order: PlaceOrder,
  ) {}

  /** The order and its saga are one commit. */
  async create(cents: number): Promise<string> {
    const orderId = randomUUID();
    await this.dataSource.transaction(async (manager) => {
      await manager.query("insert into orders (id, cents, status) values ($1, $2, 'new')", [orderId, cents]);
      await this.amends.start(this.order.saga, { orderId, cents }, { id: orderId, tx: manager });
    });
    return orderId;
  }
}

async function setStatus(manager: EntityManager, orderId: string, status: string): Promise<void> {
  await manager.query("update orders set status = $2 where id = $1", [orderId, status]);
}
