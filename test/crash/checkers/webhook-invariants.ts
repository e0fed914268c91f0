/** The invariants of webhook deliveries. They hold at any moment; the checker returns each violation in words. */
import {
  ACTIVE,
  deliveryMachine,
  jobMachine,
  WAITING,
  type DeliveryStatus,
  type JobStatus,
} from "../../../src/core/delivery/machine.ts";
import type { Database, Row } from "../../../src/storage/database.ts";
import { sql } from "../../../src/storage/sql.ts";
import { snapshot } from "./snapshot.ts";

const TABLES = ["webhook_delivery_sagas", "webhook_jobs", "webhook_attempts", "dead_letters"] as const;

export async function checkWebhookInvariants(db: Database): Promise<readonly string[]> {
  const [deliveries = [], jobs = [], attempts = [], letters = []] = await snapshot(
    db,
    TABLES.map((name) => sql`select * from ${db.dialect.table(name)} order by id`),
  );
  const accepted = attempts.filter((row) => row["verdict"] === "accepted");
  const wrong = deliveries.flatMap((delivery) => {
    const mine = (rows: readonly Row[]): readonly Row[] =>
      rows.filter((row) => String(row["saga_id"]) === String(delivery["id"]));
    return checkDelivery(delivery, mine(jobs), mine(accepted), mine(letters));
  });
  const open = new Set(
    deliveries
      .filter((row) => !deliveryMachine.isTerminal(row["status"] as DeliveryStatus))
      .map((row) => `${String(row["event_id"])} ${String(row["subscription_id"])}`),
  );
  const openCount = deliveries.filter(
    (row) => !deliveryMachine.isTerminal(row["status"] as DeliveryStatus),
  ).length;
  if (open.size !== openCount) wrong.push("W-02: two open deliveries of one event to one subscription");
  for (const job of jobs) {
    if (deliveries.every((row) => String(row["id"]) !== String(job["saga_id"])))
      wrong.push(`W-05: job ${String(job["id"])} belongs to no delivery`);
  }
  return wrong;
}

function checkDelivery(
  delivery: Row,
  jobs: readonly Row[],
  accepted: readonly Row[],
  letters: readonly Row[],
): string[] {
  const wrong: string[] = [];
  const report = (rule: string, what: string): void =>
    void wrong.push(`${rule}: delivery ${String(delivery["id"])}: ${what}`);
  const status = delivery["status"] as DeliveryStatus;
  const count = Number(delivery["attempt_count"]);
  const active = jobs.filter((job) => ACTIVE.includes(job["status"] as JobStatus));
  const waiting = jobs.filter((job) => job["result"] !== null);
  const ended = jobs.filter(
    (job) => jobMachine.isTerminal(job["status"] as JobStatus) && job["result"] === null,
  );
  if (active.length + waiting.length !== (status === "InProgress" ? 1 : 0))
    report(
      "W-05",
      `it is ${status} with ${active.length} active jobs and ${waiting.length} results to apply`,
    );
  if (WAITING.includes(status) !== (delivery["next_attempt_at"] !== null))
    report("I5", `it is ${status} with next_attempt_at ${String(delivery["next_attempt_at"])}`);
  for (const job of active)
    if (job["next_attempt_at"] === null) report("I5", "its job is neither held nor due");
  if (count !== ended.length)
    report("W-07", `attempt_count is ${count}, but ${ended.length} jobs have ended`);
  if (count + waiting.length !== accepted.length)
    report("W-07", `attempt_count is ${count}, ${accepted.length} results were accepted`);
  if (jobs.some((job, index) => Number(job["attempt"]) !== index + 1))
    report("W-05", "its jobs are not numbered one by one");
  for (const job of ended) {
    const [result, second] = accepted.filter((row) => String(row["job_id"]) === String(job["id"]));
    if (!result || second || result["report"] !== job["report"])
      report("W-07", `job ${String(job["id"])} was not settled by exactly one result`);
    if (result && Boolean(result["ok"]) !== (job["status"] === "Completed"))
      report("W-07", `job ${String(job["id"])} is ${String(job["status"])} against its result`);
  }
  const isWaiting = (id: unknown): boolean => waiting.some((job) => String(job["id"]) === String(id));
  const isArrived = accepted.some((row) => Boolean(row["ok"]) && !isWaiting(row["job_id"]));
  if (isArrived !== (status === "Completed"))
    report("W-09", `it is ${status}, arrived: ${String(isArrived)}`);
  if (status === "Completed" && delivery["final_error_code"] !== null) report("W-09", "it keeps an error");
  if (letters.length !== (status === "DeadLettered" ? 1 : 0))
    report("W-08", `it is ${status} and has ${letters.length} dead letters`);
  return wrong;
}
