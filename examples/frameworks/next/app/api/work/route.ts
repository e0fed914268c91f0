import { workHandler } from "amends/serverless";
import { amends } from "../../../lib/shop.ts";

export const maxDuration = 60;

/** A cron job calls it each minute: due work runs for up to 50 seconds. The secret is read at the request: the build has none. */
export const GET = workHandler(amends, { budget: "50s", secret: () => process.env.CRON_SECRET });
