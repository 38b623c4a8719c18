import { Buffer } from "node:buffer";
import { Code, ConnectError } from "@connectrpc/connect";

/**
 * How many entries a page has: what was requested, within 1 and `most`; `usual` when nothing was.
 */
export function pageSize(asked: bigint | undefined, usual: number, most: number): number {
  if (asked === undefined || asked === 0n) return usual;
  if (asked < 0n) throw new ConnectError("the limit is negative", Code.InvalidArgument);
  return asked > BigInt(most) ? most : Number(asked);
}

/** A page token that says where the next page continues; to callers it is opaque. */
export function pageToken(...numbers: (bigint | number)[]): string {
  return btoa(numbers.join(",")).replaceAll("=", "");
}

/** The numbers of a page token, or undefined when there is none. */
export function parsePageToken(token: string | undefined, count: number): bigint[] | undefined {
  if (token === undefined || token === "") return undefined;
  let numbers: bigint[];
  try {
    numbers = atob(token).split(",").map((text) => BigInt(text));
  } catch {
    throw invalidToken();
  }
  if (numbers.length !== count) throw invalidToken();
  return numbers;
}

/** A page token of texts, of lists in the order of names. */
export function textToken(...texts: string[]): string {
  return Buffer.from(JSON.stringify(texts)).toString("base64url");
}

/** The texts of a page token, or undefined when there is none. */
export function parseTextToken(token: string, count: number): string[] | undefined {
  if (token === "") return undefined;
  let texts: unknown;
  try {
    texts = JSON.parse(Buffer.from(token, "base64url").toString());
  } catch {
    throw invalidToken();
  }
  const areTexts = Array.isArray(texts) && texts.length === count &&
    texts.every((text) => typeof text === "string" && !text.includes("\0"));
  if (!areTexts) throw invalidToken();
  return texts as string[];
}

function invalidToken(): ConnectError {
  return new ConnectError("the page token is not one that this call gave", Code.InvalidArgument);
}
