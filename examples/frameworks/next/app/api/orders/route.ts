import { createOrder, newOrder } from "../../../lib/shop.ts";

export async function POST(request: Request): Promise<Response> {
  const order = newOrder.safeParse(await request.json().catch(() => undefined));
  if (!order.success) return Response.json({ error: order.error.issues }, { status: 400 });
  return Response.json({ id: await createOrder(order.data) }, { status: 202 });
}
