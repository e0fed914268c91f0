import { workHandler } from "amends/serverless";
import { amends } from "../../../lib/shop.ts";

export const maxDuration = 60;

// Made at the first request: `next build` loads this file as well, and has no secret.
let work: ReturnType<typeof workHandler> | undefined;

/** A cron job calls it each minute: due work runs for up to 50 seconds. */
export async function GET(request: Request): Promise<Response> {
  work ??= workHandler(amends, { budget: "50s", secret: process.env.CRON_SECRET ?? "" });
  return work(request);
}
