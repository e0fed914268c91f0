import { findOrder } from "../../../../lib/shop.ts";

export async function GET(
  _request: Request,
  context: { params: Promise<{ id: string }> },
): Promise<Response> {
  const order = await findOrder((await context.params).id);
  return order ? Response.json(order) : Response.json({ error: "There is no such order." }, { status: 404 });
}
