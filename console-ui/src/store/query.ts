/** A path of the API with its parameters; what is empty is left out. */
export function apiPath(path: string, query: Readonly<Record<string, string | null | undefined>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}
