import type { Peer } from "../../../shared/rpc/server/peer.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { HOW_TO_SIGN_IN, type HttpCallers } from "../../accounts/access/http_callers.ts";
import type { Scope } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import {
  answerWithFile,
  type FileFacts,
  type FileRequest,
  openForAnswer,
  refusal,
} from "../../storage/blobs/blob_answer.ts";
import { type DownloadUrls, fileName } from "./download_urls.ts";
import type { FileRow } from "./package_store.ts";

export interface DownloadsOptions {
  readonly queries: Queries;
  readonly http: HttpCallers;
  readonly urls: DownloadUrls;
  readonly blobs: BlobStore;
  readonly clock: Clock;
}

/** What is requested under `/packages/ID/NAME`. */
export interface DownloadRequest extends FileRequest {
  readonly fileId: string;
  readonly query: (name: string) => string | undefined;
  readonly peer: Peer;
}

type FoundFile = FileRow & { readonly name: string };
/** `all`: the link itself opens the file. */
type Access = { readonly to: "all" } | { readonly to: "scope"; readonly scope: Scope };

/**
 * Answers with package files: whole or one range of bytes, read as the caller takes
 * them. Callers sign in by a signed link, by `key_id` and `key`, by `part_id` and `secret`, or by
 * an access token.
 */
export function packageDownloads(options: DownloadsOptions) {
  return async (request: DownloadRequest): Promise<Response> => {
    const access = await accessOf(options, request);
    if (access instanceof Response) return access;
    const file = await find(options, request.fileId, access);
    const blob = file && await openForAnswer(options.blobs, file.id);
    if (blob instanceof Response) return blob;
    if (!file || !blob) return refusal(404, `no package file with id ${request.fileId}`);
    return await answerWithFile(request, blob, factsOf(file), options);
  };
}

async function accessOf(
  { urls, http }: DownloadsOptions,
  request: DownloadRequest,
): Promise<Access | Response> {
  const { fileId, query, peer } = request;
  const link = urls.check(fileId, query("expires"), query("signature"));
  if (link === "valid") return { to: "all" };
  const access = await http.accessOf(request);
  switch (access.kind) {
    case "scope":
      return { to: "scope", scope: access.scope };
    case "refused":
      return refusal(access.status, access.error);
  }
  if (link === "expired") {
    return refusal(403, "the link has expired; request a new one with GetPackage, or sign in");
  }
  if (link === "unsigned") return refusal(401, HOW_TO_SIGN_IN);
  const { status, error } = http.refuse(peer);
  return refusal(status, error);
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

function factsOf(file: FoundFile): FileFacts {
  return {
    size: file.size,
    sha256: file.sha256,
    createdAtMs: file.created_at,
    // A version is never changed; a cache that others share must not keep it.
    cacheControl: "private, max-age=31536000, immutable, no-transform",
    headers: {
      // The servers of machines take exactly this type and look for the sum under this name.
      "content-type": "application/x-gzip",
      "x-goog-hash": `crc32c=${file.crc32c}`,
      "content-disposition": `attachment; filename="${fileName(file.name, file.version)}"`,
    },
  };
}
