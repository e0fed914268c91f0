/** What must not be shown: the password of a URL and the token of a console, wherever they were given. */
const NAMED = ["--token", "--database", "--console"];
const ENV = ["AMENDS_TOKEN", "DATABASE_URL", "AMENDS_CONSOLE", "PGPASSWORD"];
/** Shorter ones would blot out half of what is said. */
const LENGTH_MIN = 3;

export function secretsOf(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const given = argv.flatMap((word, index) => {
    const name = NAMED.find((one) => word === one || word.startsWith(`${one}=`));
    if (name === undefined) return [];
    return [word === name ? (argv[index + 1] ?? "") : word.slice(name.length + 1)].map(
      (value) => [name, value] as const,
    );
  });
  const set = ENV.map((name) => [name, env[name] ?? ""] as const);
  return [...given, ...set]
    .flatMap(([name, value]) => (/token|PASSWORD/i.test(name) ? [value] : inUrl(value)))
    .filter((secret) => secret.length >= LENGTH_MIN);
}

/**
 * A URL that cannot be read may hold a password as well: what stands between the first colon and the last @. A password that
 * is also the name of the database is not hidden: the name is printed in every answer.
 */
function inUrl(text: string): readonly string[] {
  const token = /[#&?]token=([^&]+)/.exec(text)?.[1];
  const password =
    /[a-z][a-z0-9+.-]*:\/\/[^:/?#]*:(.*)@/i.exec(text)?.[1] ?? /[?&]password=([^&]+)/.exec(text)?.[1];
  const database = URL.canParse(text) ? decoded(new URL(text).pathname.slice(1)) : "";
  return [token, password]
    .flatMap((secret) => (secret === undefined ? [] : [secret, decoded(secret)]))
    .filter((secret) => secret !== database);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
