/** What a person may do about a delivery or a subscription. The first action is the one that helps. */
import type { SubscriptionBrief } from "./read/subscription-brief.ts";

/** Nothing can be sent to a deleted subscription, and nothing arrives at an endpoint that is gone. */
export function deliveryActions(
  { status, gone }: Pick<SubscriptionBrief, "status" | "gone">,
  isOpenLetter: boolean,
): readonly ("resend" | "dismiss")[] {
  if (status === "Deleted") return isOpenLetter ? ["dismiss"] : [];
  if (!isOpenLetter) return ["resend"];
  return gone ? ["dismiss", "resend"] : ["resend", "dismiss"];
}

/** An endpoint that answered 410 does not come back. */
export function disabledActions({
  gone,
}: Pick<SubscriptionBrief, "gone">): readonly ("enable" | "unsubscribe")[] {
  return gone ? ["unsubscribe", "enable"] : ["enable", "unsubscribe"];
}
