/** Addresses and headers whose secrets are kept apart from what messages show. */
import { Buffer } from "node:buffer";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import { AttributeError, type Check, mapOf } from "../../resources/graph/attributes.ts";

export interface HttpAddress {
  /** Without user and password. */
  readonly url: URL;
  /** For messages: without user, password and query. */
  readonly shown: string;
  /** The header that user and password of the address stand for. */
  readonly authorization: Secret | undefined;
}

/** Undefined when the text is no http or https address. */
function parseHttpAddress(text: string): HttpAddress | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  const pair = `${decoded(url.username)}:${decoded(url.password)}`;
  const authorization = pair === ":"
    ? undefined
    : new Secret(`Basic ${Buffer.from(pair).toString("base64")}`);
  url.username = "";
  url.password = "";
  return { url, shown: `${url.origin}${url.pathname}`, authorization };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that was meant as one
  }
}

/** The attribute `url`. */
export function httpAddress(description: string): Check<HttpAddress> {
  return {
    schema: { type: "string", format: "uri", description },
    parse(value, path) {
      const address = typeof value === "string" ? parseHttpAddress(value) : undefined;
      if (address) return address;
      const found = typeof value === "string"
        ? JSON.stringify(value.replace(/[^/]*@/, "***@").replace(/\?.*/s, ""))
        : JSON.stringify(value) ?? "nothing";
      throw new AttributeError(path, found, "an address that begins with http:// or https://");
    },
  };
}

/** The attribute `headers`. */
export function httpHeaders(description: string): Check<Record<string, Secret>> {
  const value: Check<Secret> = {
    schema: { type: "string" },
    parse(value, path) {
      const name = path.slice(path.lastIndexOf(".") + 1);
      if (typeof value === "string" && isHeader(name, value)) return new Secret(value);
      throw new AttributeError(path, "something else", "a name and a text that fit a header");
    },
  };
  return mapOf(value, description);
}

function isHeader(name: string, value: string): boolean {
  try {
    new Headers([[name, value]]);
    return true;
  } catch {
    return false;
  }
}
