/** An address as it may be shown: what follows the path of a webhook's address may be a secret. */
export function shownUrl(url: string): string {
  if (!URL.canParse(url)) return "unreadable";
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
