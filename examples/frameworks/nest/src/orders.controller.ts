import {
  BadRequestException,
  Body,
  Controller,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  Post,
} from "@nestjs/common";
import { z } from "zod";
import { OrdersService } from "./orders.service.ts";

const newOrder = z.object({ cents: z.number().int().positive() });

@Controller("orders")
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @HttpCode(202)
  async create(@Body() body: unknown): Promise<{ id: string }> {
    const order = newOrder.safeParse(body);
    if (!order.success) throw new BadRequestException(order.error.issues);
    return { id: await this.orders.create(order.data.cents) };
  }

  @Get(":id")
  async find(@Param("id") id: string): Promise<{ id: string; status: string }> {
    const order = await this.orders.find(id);
    if (!order) throw new NotFoundException("There is no such order.");
    return order;
  }
}
