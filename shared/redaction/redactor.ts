import { maskUserInfo, SECRET_MASK } from "./secret_keys.ts";

// A shorter value would be found inside of ordinary words.
const SHORTEST_VALUE = 6;
// A machine has a handful of keys; the bound keeps the search short.
const MOST_VALUES = 500;

// Every expression walks a text once: none can begin inside of what it just gave up on.
const QUERY =
  /([?&;](?:access_token|api_key|apikey|auth|key|password|secret|sig|signature|token)=)[^&;#\s"'<>]+/gi;
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
    if (result.includes("=")) result = result.replace(QUERY, `$1${SECRET_MASK}`);
    result = result.replace(AUTHORIZATION, `$1${SECRET_MASK}`)
      .replace(BEARER, `$1${SECRET_MASK}`);
    if (result.includes("eyJ")) result = result.replace(JSON_WEB_TOKEN, SECRET_MASK);
    return this.#known ? result.replace(this.#known, SECRET_MASK) : result;
  }
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
