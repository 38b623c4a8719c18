import type { AttemptLimiter } from "../../shared/auth/attempt_limiter.ts";
import type { Identity } from "../../shared/auth/identity.ts";
import type { Peer } from "../../shared/rpc/peer.ts";
import type { Clock } from "../../shared/time/clock.ts";
import type { Callers } from "../access/callers.ts";
import { Scope } from "../access/scope.ts";
import type { CredentialVerifiers } from "../access/verifiers.ts";
import type { Queries } from "../database/cloud_database.ts";
import type { BlobStore } from "./blob_store.ts";
import { answerFor, type FileAnswer } from "./byte_range.ts";
import { type DownloadUrls, fileName } from "./download_urls.ts";
import { streamFile } from "./file_stream.ts";
import type { FileRow } from "./package_store.ts";

export interface DownloadsOptions {
  readonly queries: Queries;
  readonly callers: Pick<Callers, "of">;
  readonly verifiers: CredentialVerifiers;
  /** Whose access token it is; throws for any other text. */
  readonly verifyToken: (token: string) => Promise<Identity>;
  readonly urls: DownloadUrls;
  readonly blobs: BlobStore;
  readonly limiter: AttemptLimiter;
  readonly clock: Clock;
}

/** What is asked for under `/packages/ID/NAME`. */
export interface DownloadRequest {
  readonly fileId: string;
  readonly method: "GET" | "HEAD";
  readonly header: (name: string) => string | undefined;
  readonly query: (name: string) => string | undefined;
  readonly peer: Peer;
}

type FoundFile = FileRow & { readonly name: string };
/** `all`: the link itself opens the file. */
type Access = { readonly to: "all" } | { readonly to: "scope"; readonly scope: Scope };

/**
 * Answers with package files: whole or one range of bytes, read from the disk as the caller takes
 * them. Callers sign in by a signed link, by `key_id` and `key`, by `part_id` and `secret`, or by
 * an access token.
 */
export function packageDownloads(options: DownloadsOptions) {
  return async (request: DownloadRequest): Promise<Response> => {
    const access = await accessOf(options, request);
    if (access instanceof Response) return access;
    const file = await find(options, request.fileId, access);
    const blob = file && await options.blobs.read(file.id);
    if (!file || !blob) return refusal(404, `no package file with id ${request.fileId}`);
    const answer = answerFor({
      ifMatch: request.header("if-match"),
      ifNoneMatch: request.header("if-none-match"),
      ifModifiedSince: request.header("if-modified-since"),
      ifRange: request.header("if-range"),
      // A range has a meaning for GET only.
      range: request.method === "GET" ? request.header("range") : undefined,
    }, { etag: etagOf(file), modified: new Date(file.created_at), size: file.size });
    const wanted = bytesOf(answer, file.size);
    if (!wanted || request.method === "HEAD") blob.close();
    const body = wanted && request.method === "GET"
      ? await streamFile(blob, wanted, options.clock)
      : null;
    return new Response(body, { status: answer.status, headers: headersOf(file, answer) });
  };
}

async function accessOf(
  options: DownloadsOptions,
  { fileId, header, query, peer }: DownloadRequest,
): Promise<Access | Response> {
  const { urls, limiter } = options;
  const link = urls.check(fileId, query("expires"), query("signature"));
  if (link === "valid") return { to: "all" };
  if (!limiter.allows(peer.address)) {
    const message = "too many failed attempts to authenticate from this address; wait a minute";
    return refusal(429, message);
  }
  const identity = await identityOf(options, header);
  if (identity) {
    const caller = await options.callers.of(identity).catch(() => undefined);
    if (caller) return { to: "scope", scope: new Scope(options.queries, caller) };
  }
  if (identity === undefined && link === "expired") {
    return refusal(403, "the link has expired; ask GetPackage for a new one, or sign in");
  }
  if (identity === undefined && link === "unsigned") {
    return refusal(
      401,
      "sign in with the headers key_id and key, part_id and secret, or authorization: Bearer …",
    );
  }
  limiter.failed(peer.address);
  return refusal(401, "the credentials are not valid");
}

/** Undefined: no credentials were sent; null: they are wrong. */
async function identityOf(
  { verifiers, verifyToken }: DownloadsOptions,
  header: DownloadRequest["header"],
): Promise<Identity | null | undefined> {
  const [scheme, token] = (header("authorization") ?? "").split(" ");
  if (scheme?.toLowerCase() === "bearer" && token) {
    return await verifyToken(token).catch(() => null);
  }
  const { "api-key": apiKey, "robot-secret": partSecret } = verifiers.byType;
  const [keyId, key] = [header("key_id"), header("key")];
  if (keyId && key) return await apiKey(keyId, key) ?? null;
  const [partId, secret] = [header("part_id"), header("secret")];
  if (partId && secret) return await partSecret(partId, secret) ?? null;
  return undefined;
}

async function find(
  { queries }: DownloadsOptions,
  id: string,
  access: Access,
): Promise<FoundFile | undefined> {
  const items = access.to === "all"
    ? queries.selectFrom("registry_items").select(["registry_items.id", "registry_items.name"])
    : access.scope.registryItems().select(["registry_items.id", "registry_items.name"]);
  const file = await queries.selectFrom("package_files").selectAll()
    .where("id", "=", id).executeTakeFirst();
  const item = file && await items.where("registry_items.id", "=", file.item_id)
    .executeTakeFirst();
  return item && { ...file, name: item.name };
}

function bytesOf(
  answer: FileAnswer,
  size: number,
): { start: number; length: number } | undefined {
  if (answer.status === 200) return { start: 0, length: size };
  if (answer.status !== 206) return undefined;
  return { start: answer.start, length: answer.end - answer.start + 1 };
}

function etagOf(file: FileRow): string {
  return `"${file.sha256}"`;
}

function headersOf(file: FoundFile, answer: FileAnswer): Headers {
  const headers = new Headers({
    "etag": etagOf(file),
    "last-modified": new Date(file.created_at).toUTCString(),
    "accept-ranges": "bytes",
    // A version is never changed; a cache that others share must not keep it.
    "cache-control": "private, max-age=31536000, immutable, no-transform",
  });
  if (answer.status === 304) return headers;
  if (answer.status === 416) headers.set("content-range", `bytes */${file.size}`);
  const bytes = bytesOf(answer, file.size);
  if (!bytes) return headers;
  if (answer.status === 206) {
    headers.set("content-range", `bytes ${answer.start}-${answer.end}/${file.size}`);
  }
  // The servers of machines take exactly this type and look for the sum under this name.
  headers.set("content-type", "application/x-gzip");
  headers.set("x-goog-hash", `crc32c=${file.crc32c}`);
  headers.set("x-checksum-sha256", file.sha256);
  headers.set("repr-digest", `sha-256=:${Uint8Array.fromHex(file.sha256).toBase64()}:`);
  headers.set("content-length", String(bytes.length));
  const name = fileName(file.name, file.version);
  headers.set("content-disposition", `attachment; filename="${name}"`);
  return headers;
}

function refusal(status: number, error: string): Response {
  return Response.json({ error }, { status, headers: { "cache-control": "no-store" } });
}
