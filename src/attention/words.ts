/** Words that the reasons of several kinds share. */
export function triesText(count: number): string {
  return count === 1 ? "1 try" : `${count} tries`;
}

/** The error code of a webhook's attempt, in words. */
export function responseText(code: string): string {
  if (code === "gone") return "it answered HTTP 410 (gone for good)";
  const status = /^http_(\d{3})$/.exec(code)?.[1];
  return status === undefined ? code : `it answered HTTP ${status}`;
}
