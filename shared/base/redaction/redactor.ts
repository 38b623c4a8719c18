import { maskArguments } from "./arguments.ts";
import { isSecretKey, maskUserInfo, SECRET_MASK } from "./secret_keys.ts";

// A shorter value would be found inside of ordinary words.
const SHORTEST_VALUE = 6;
// A machine has a handful of keys; the bound keeps the search short.
const MOST_VALUES = 500;

// Every expression walks a text once: none can begin inside of what it just failed to match.
const ASSIGNED = /(?<!\w)([a-z][\w.-]{0,63})=("[^"]*"|'[^']*'|[^\s&;#"'<>,]+)/gi;
/** What is secret in a query of a URL besides what is everywhere. */
const IN_QUERIES = new Set(["auth", "key", "sig", "signature", "x-amz-signature"]);
const AUTHORIZATION = /(\bauthorization["']?\s?[:=]\s?["']?)(?:[a-z]{1,10} )?[^\s"',;]+/gi;
const BEARER = /(\bbearer )[\w.~+/=-]{12,}/gi;
const JSON_WEB_TOKEN = /(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g;

/**
 * Hides secrets in texts that were not made with care: values that are known to be secret, users
 * and passwords of URLs, secrets in their queries, and access tokens.
 */
export class Redactor {
  #known: RegExp | undefined;

  /** Replaces the known values; those of fewer than six characters are left out. */
  setKnown(values: Iterable<string>): void {
    const unique = [...new Set(values)].filter((value) => value.length >= SHORTEST_VALUE);
    const longestFirst = unique.sort((a, b) => b.length - a.length).slice(0, MOST_VALUES);
    this.#known = longestFirst.length === 0
      ? undefined
      : new RegExp(longestFirst.map(escape).join("|"), "g");
  }

  /** The text with `******` where secrets stood. */
  text(text: string): string {
    let result = maskUserInfo(text);
    if (result.includes("=")) result = result.replace(ASSIGNED, maskAssigned);
    if (result.includes("-")) result = maskArguments(result);
    result = result.replace(AUTHORIZATION, `$1${SECRET_MASK}`)
      .replace(BEARER, `$1${SECRET_MASK}`);
    if (result.includes("eyJ")) result = result.replace(JSON_WEB_TOKEN, SECRET_MASK);
    return this.#known ? result.replace(this.#known, SECRET_MASK) : result;
  }
}

/** `name=value` in a query, in an argument, or of an environment variable. */
function maskAssigned(all: string, name: string, value: string, at: number, text: string): string {
  const inQuery = at > 0 && "?&;#".includes(text[at - 1]!);
  const secret = inQuery && IN_QUERIES.has(name.toLowerCase()) ||
    // Outside of them `key=` is mostly the name of something.
    (inQuery || name.toLowerCase() !== "key") && isSecretKey(name, value);
  return secret ? `${name}=${SECRET_MASK}` : all;
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
