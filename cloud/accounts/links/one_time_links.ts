import { createHash } from "node:crypto";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { LinkPurpose } from "../../storage/database/people_schema.ts";
import { alphanumeric, type Random } from "../../storage/keys/random.ts";

const TOKEN_LENGTH = 40;
const HOUR_MS = 60 * 60_000;

/** How long links count. */
const COUNTS_FOR_MS: Readonly<Record<LinkPurpose, number>> = {
  "sign-in": HOUR_MS,
  "set-password": 24 * HOUR_MS,
};

/** What the database keeps of a token in a link. */
export function hashOfToken(token: string): string {
  return createHash("sha256").update(`link\0${token}`).digest("base64url");
}

/** A token that nobody can guess, and what the database keeps of it. */
export function newToken(random: Random): { token: string; hash: string } {
  const token = alphanumeric(random, TOKEN_LENGTH);
  return { token, hash: hashOfToken(token) };
}

/**
 * Makes the token of a link that works once, in place of an earlier one for the same purpose. Call
 * it in a transaction.
 */
export async function createLink(
  queries: Queries,
  { userId, purpose }: { readonly userId: string; readonly purpose: LinkPurpose },
  { random, now }: { readonly random: Random; readonly now: Date },
): Promise<string> {
  const { token, hash } = newToken(random);
  await queries.deleteFrom("one_time_links").where("user_id", "=", userId)
    .where("purpose", "=", purpose).execute();
  await queries.insertInto("one_time_links").values({
    hash,
    user_id: userId,
    purpose,
    created_at: now.getTime(),
    expires_at: now.getTime() + COUNTS_FOR_MS[purpose],
  }).execute();
  return token;
}

/** A link that somebody opened. */
export interface OpenedLink {
  readonly token: string;
  readonly purpose: LinkPurpose;
}

/** Whose link it is; it still counts afterwards. */
export async function linkOwner(
  queries: Queries,
  { token, purpose }: OpenedLink,
  now: Date,
): Promise<string | undefined> {
  const row = await queries.selectFrom("one_time_links").select("user_id")
    .where("hash", "=", hashOfToken(token)).where("purpose", "=", purpose)
    .where("expires_at", ">", now.getTime()).executeTakeFirst();
  return row?.user_id;
}

/** Whose link it is; it is used up then. Call it in a transaction. */
export async function useLink(
  queries: Queries,
  link: OpenedLink,
  now: Date,
): Promise<string | undefined> {
  const owner = await linkOwner(queries, link, now);
  if (owner !== undefined) {
    await queries.deleteFrom("one_time_links").where("hash", "=", hashOfToken(link.token))
      .execute();
  }
  return owner;
}

/**
 * Where links lead, on the cloud's own address. A token that signs in automatically is in the
 * fragment, which browsers keep to themselves.
 */
export function linkUrl(
  publicUrl: string,
  page: "invitation" | "password" | "link",
  token: string,
): string {
  const before = page === "link" ? "#" : "?token=";
  return `${publicUrl.replace(/\/$/, "")}/account/${page}${before}${token}`;
}
