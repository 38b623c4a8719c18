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
  const invalid = new ConnectError(
    "the page token is not one that this call gave",
    Code.InvalidArgument,
  );
  let numbers: bigint[];
  try {
    numbers = atob(token).split(",").map((text) => BigInt(text));
  } catch {
    throw invalid;
  }
  if (numbers.length !== count) throw invalid;
  return numbers;
}
