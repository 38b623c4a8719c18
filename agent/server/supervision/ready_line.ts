/** Loggers that say where the server serves; a module or a resource has a longer name. */
const SERVER_LOGGERS: ReadonlySet<string> = new Set(["rdk", "rdk.networking"]);

/**
 * The addresses in the line by which a server reports that it serves, or undefined for every other
 * line: `TIME⇥INFO⇥rdk⇥FILE:LINE⇥serving⇥{"url":"…"}`. What a module or a resource logs may hold
 * the same words; its line has another logger, or they stand in another column.
 *
 * The nearest address comes first: `alt_url` is the one by number, `url` may be a name that only
 * others can look up. An address that means "all interfaces" becomes loopback.
 */
export function readyUrls(line: string): string[] | undefined {
  if (!line.includes("\tserving\t")) return undefined;
  const [, level, logger = "", , message, fields = ""] = line.split("\t", 6);
  if (level !== "INFO" || message !== "serving" || !SERVER_LOGGERS.has(logger)) return undefined;
  const urls = addresses(fields);
  return urls.length > 0 ? urls : undefined;
}

function addresses(json: string): string[] {
  let fields: unknown;
  try {
    fields = JSON.parse(json);
  } catch {
    return [];
  }
  if (typeof fields !== "object" || fields === null) return [];
  const { alt_url, url } = fields as { alt_url?: unknown; url?: unknown };
  return [...new Set([alt_url, url].flatMap(reachable))];
}

function reachable(value: unknown): string[] {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (!url || !/^https?:$/.test(url.protocol)) return [];
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.hostname === "[::]") url.hostname = "[::1]";
  return [url.origin];
}
