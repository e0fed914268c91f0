/** Calls, webhooks, schedules and erasure, without an annotation. */
import type { Amends } from "amends";
import { defineCall } from "amends/calls";
import { dataMap, httpResolver, type AnyResolver, type OutboxEntry } from "amends/erasure";
import { signWebhook, type Subscription } from "amends/webhooks";
import { z } from "zod";

declare const amends: Amends;
declare const subscription: Subscription;
declare const entry: OutboxEntry;

export const mail = defineCall("mail", { schema: z.object({ to: z.string() }), handle: () => undefined });
export const map = dataMap({
  users: { subject: "id", columns: { email: { category: "email", strategy: "delete" } } },
});
export const [firstTable] = map.tables;
export const filter = subscription.filter;
export const sign = signWebhook;
export const verification = entry.verification;
export const crm = (): AnyResolver[] => [
  httpResolver({ name: "crm", erase: { url: "https://crm.example/{value}" } }),
];

export function enqueue() {
  return amends.calls.enqueue(mail, { to: "ann@example.org" });
}
export function abandoned() {
  return amends.calls.listAbandoned();
}
export function publish() {
  return amends.webhooks.publish({ type: "order.placed", data: {} });
}
export function deliveries() {
  return amends.webhooks.deliveries({});
}
export function erase() {
  return amends.erasure.eraseSubject("ann", [], { tx: {} });
}
export function schedule() {
  return amends.schedules.get("nightly");
}
export function schedules() {
  return amends.schedules.list();
}
export function overdue() {
  return amends.erasure.overdue();
}
