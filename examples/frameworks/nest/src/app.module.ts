import { Module } from "@nestjs/common";
import { AmendsModule } from "./amends.module.ts";
import { DatabaseModule, url } from "./database.module.ts";
import { HealthController } from "./health.controller.ts";
import { OrdersController } from "./orders.controller.ts";
import { OrdersService } from "./orders.service.ts";
import { Payments } from "./payments.ts";
import { PlaceOrder } from "./place-order.ts";

@Module({
  imports: [AmendsModule.register({ url, sagas: [PlaceOrder], providers: [Payments] }), DatabaseModule],
  controllers: [OrdersController, HealthController],
  providers: [OrdersService],
})
export class AppModule {}
