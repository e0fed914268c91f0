import { randomUUID } from "node:crypto";
import { Injectable } from "@nestjs/common";
import { Amends } from "amends";
import type { ClientBase } from "pg";
import { Database } from "./database.module.ts";
import { PlaceOrder } from "./place-order.ts";

@Injectable()
export class OrdersService {
  constructor(
    private readonly database: Database,
    private readonly amends: Amends<ClientBase>,
    private readonly placeOrder: PlaceOrder,
  ) {}

  /** The order and its saga are one commit. */
  async create(cents: number): Promise<string> {
    const orderId = randomUUID();
    await this.database.inTransaction(async (tx) => {
      await tx.query("insert into orders (id, cents, status) values ($1, $2, 'new')", [orderId, cents]);
      await this.amends.start(this.placeOrder.saga, { orderId, cents }, { id: orderId, tx });
    });
    return orderId;
  }

  async find(id: string): Promise<{ id: string; status: string } | undefined> {
    const { rows } = await this.database.query("select id, status from orders where id = $1", [id]);
    return rows[0];
  }
}
