/** Words that the reasons of several kinds share. */
export function attemptsText(count: number): string {
  return count === 1 ? "1 attempt" : `${count} attempts`;
}

export function linesText(count: number): string {
  return count === 1 ? "1 line" : `${count} lines`;
}

/** The error code of a webhook's attempt, in words. */
export function responseText(code: string): string {
  if (code === "gone") return "it answered HTTP 410 (gone for good)";
  if (code === "subscription_disabled") return "not sent, the subscription is disabled";
  if (code === "subscription_deleted") return "not sent, the subscription was deleted";
  const status = /^http_(\d{3})$/.exec(code)?.[1];
  return status === undefined ? code : `it answered HTTP ${status}`;
}
