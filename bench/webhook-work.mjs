// What both sides of the webhook comparison send.
export const subscriptions = 100;
export const webhookData = { orderId: "o-1", note: "x".repeat(200) };
export const webhookBody = JSON.stringify({ type: "order.placed", data: webhookData });
