const READY = /serving\s+(\{"url":"https?:\/\/[^"]+".*\})/;

/**
 * The addresses in the line by which a server says that it serves, or undefined for every other
 * line. The nearest comes first: `alt_url` is the one by number, `url` may be a name that only
 * others can look up. An address that means "all interfaces" becomes loopback.
 */
export function readyUrls(line: string): string[] | undefined {
  const found = READY.exec(line)?.[1];
  if (found === undefined) return undefined;
  const urls = ["alt_url", "url"].map((name) => urlField(found, name));
  return urls.filter((url) => url !== undefined).map(reachable);
}

function urlField(json: string, name: string): string | undefined {
  const value = new RegExp(`"${name}":"(https?://[^"]+)"`).exec(json)?.[1];
  return value !== undefined && URL.canParse(value) ? value : undefined;
}

function reachable(text: string): string {
  const url = new URL(text);
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.hostname === "[::]") url.hostname = "[::1]";
  return url.origin;
}
