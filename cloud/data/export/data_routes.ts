import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  HOW_TO_SIGN_IN,
  type HttpAccess,
  type HttpCallers,
} from "../../accounts/access/http_callers.ts";
import type { HttpSender } from "../../accounts/access/http_callers.ts";
import type { Scope } from "../../accounts/access/scope.ts";
import type { FileUrls } from "../ingest/file_urls.ts";
import { readSpan, type TimeSpan } from "../ingest/filters.ts";
import { jsonPath, plot } from "../ingest/plot.ts";
import type { Readings } from "../ingest/readings.ts";
import { sourcesOfMethod } from "../ingest/tabular_methods.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { answerWithFile, openForAnswer, refusal } from "../../storage/blobs/blob_answer.ts";
import { ExportSource } from "./export_rows.ts";
import type { SequenceExports } from "../sequences/sequence_exports.ts";
import { byteStream } from "./byte_stream.ts";
import { isFormat } from "./format_names.ts";
import { CONTENT_TYPES, exported } from "./formats.ts";
import { reasonOf, refusal as refusalOf } from "../../../shared/rpc/reasons.ts";

export interface DataRoutesOptions {
  readonly queries: Queries;
  readonly http: HttpCallers;
  readonly readings: Readings;
  readonly files: BlobStore;
  readonly urls: FileUrls;
  readonly exports: Pick<SequenceExports, "byId" | "archives">;
  readonly clock: Clock;
}

/** A request below `/data/`. */
export interface DataRequest extends HttpSender {
  /** What stands behind `/data/`. */
  readonly path: readonly string[];
  readonly method: "GET" | "HEAD";
  readonly query: (name: string) => string | undefined;
  /** Ends what is read for a caller who left; undefined: who asks waits. */
  readonly signal?: AbortSignal;
}

/** Exports at the same moment. */
const MOST_EXPORTS = 8;

/**
 * `/data/files/ID`: a file. `/data/exports/ID`: a dataset of sequences as an archive. `/data/export`: readings as a file. `/data/plot`: readings reduced to
 * spans, as JSON. Callers sign in as for packages; files open by a signed link, too.
 */
export function dataRoutes(options: DataRoutesOptions) {
  const { http } = options;
  let exports = 0;
  const onExportEnd = () => exports--;

  async function answer(request: DataRequest): Promise<Response> {
    const [what, name = ""] = request.path;
    switch (what) {
      case "files":
        return await file(options, request, name);
      case "exports":
        return await archive(options, request, name);
      case "plot":
        return await withScope(http, request, (scope) => plotted(options, request, scope));
      case "export":
        return await withScope(http, request, async (scope) => {
          if (exports >= MOST_EXPORTS) {
            const message = `${MOST_EXPORTS} exports are running; try again in a while`;
            throw refusalOf("TRY_LATER", {}, message, Code.Unavailable);
          }
          exports++;
          try {
            return await exportOf(options, request, scope, onExportEnd);
          } catch (error) {
            onExportEnd();
            throw error;
          }
        });
      default:
        return refusal(404, "not found");
    }
  }

  return async (request: DataRequest): Promise<Response> => {
    try {
      return await answer(request);
    } catch (error) {
      if (request.signal?.aborted) return refusal(CALLER_LEFT, "the caller went away");
      if (!(error instanceof ConnectError)) throw error;
      return Response.json(
        { error: error.rawMessage, ...reasonOf(error) },
        { status: STATUS[error.code] ?? 500, headers: { "cache-control": "no-store" } },
      );
    }
  };
}

/** Nobody reads it; as web servers log it. */
const CALLER_LEFT = 499;

const STATUS: Readonly<Partial<Record<Code, number>>> = {
  [Code.InvalidArgument]: 400,
  [Code.PermissionDenied]: 403,
  [Code.NotFound]: 404,
  [Code.FailedPrecondition]: 409,
  [Code.Unavailable]: 503,
};

async function withScope(
  http: HttpCallers,
  request: DataRequest,
  work: (scope: Scope) => Promise<Response>,
): Promise<Response> {
  const access = await http.accessOf(request);
  return access.kind === "scope" ? await work(access.scope) : denied(access);
}

function denied(access: Exclude<HttpAccess, { kind: "scope" }>): Response {
  return access.kind === "refused"
    ? refusal(access.status, access.error)
    : refusal(401, HOW_TO_SIGN_IN);
}

async function file(
  { queries, http, files, urls, clock }: DataRoutesOptions,
  request: DataRequest,
  name: string,
): Promise<Response> {
  const id = name.split(".")[0] ?? "";
  const link = urls.check(id, request.query("expires"), request.query("signature"));
  const access = link === "valid" ? undefined : await http.accessOf(request);
  if (access?.kind === "none" && link === "expired") {
    return refusal(403, "the link has expired; request a new one, or sign in");
  }
  if (access?.kind === "none" && link === "wrong") return denied(http.refuse(request.peer));
  if (access && access.kind !== "scope") return denied(access);
  const found = access
    ? access.scope.binaryData().selectAll("binary_data")
    : queries.selectFrom("binary_data").selectAll();
  const row = await found.where("binary_data.id", "=", id).executeTakeFirst();
  const opened = row && await openForAnswer(files, row.id);
  if (opened instanceof Response) return opened;
  if (!row || !opened) return refusal(404, `no file with id ${JSON.stringify(id)}`);
  return await answerWithFile(request, opened, {
    size: row.size,
    sha256: row.sha256,
    createdAtMs: row.synced_at,
    cacheControl: "private, max-age=31536000, immutable, no-transform",
    headers: {
      "content-type": row.mime_type,
      // What machines send is shown to nobody as a page of this cloud.
      "content-disposition": `attachment; filename="${row.id}${safe(row.file_extension)}"`,
      "content-security-policy": "sandbox; default-src 'none'",
    },
  }, { clock });
}

/** An archive opens by the link that GetSequenceDatasetExport gives, and by nothing else. */
async function archive(
  { http, exports, urls, clock }: DataRoutesOptions,
  request: DataRequest,
  name: string,
): Promise<Response> {
  const id = name.split(".")[0] ?? "";
  const link = urls.checkExport(id, request.query("expires"), request.query("signature"));
  if (link === "expired") {
    return refusal(403, "the link has expired; GetSequenceDatasetExport gives a new one");
  }
  if (link === "wrong") return denied(http.refuse(request.peer));
  if (link === "unsigned") {
    return refusal(401, "GetSequenceDatasetExport gives the link that opens this");
  }
  const row = await exports.byId(id);
  const opened = row?.state === "completed" ? await openForAnswer(exports.archives, id) : undefined;
  if (opened instanceof Response) return opened;
  if (!row || !opened) return refusal(404, `no export with id ${JSON.stringify(id)}`);
  return await answerWithFile(request, opened, {
    size: row.size,
    sha256: row.sha256,
    createdAtMs: row.completed_at ?? row.created_at,
    cacheControl: "private, no-transform",
    headers: {
      "content-type": "application/gzip",
      "content-disposition": `attachment; filename="${id}.tar.gz"`,
    },
  }, { clock });
}

async function exportOf(
  { queries, readings, clock }: DataRoutesOptions,
  request: DataRequest,
  scope: Scope,
  onEnd: () => void,
): Promise<Response> {
  const format = request.query("format") ?? "csv";
  if (!isFormat(format)) {
    throw new ConnectError(
      `format: ${JSON.stringify(format)} is none; there is csv, jsonl and parquet`,
      Code.InvalidArgument,
    );
  }
  const { sourceIds, span, name } = await asked(request, scope);
  const source = await ExportSource.open(queries, readings, {
    sourceIds,
    ...span,
    signal: request.signal,
  });
  const headers = {
    "content-type": CONTENT_TYPES[format],
    "content-disposition": `attachment; filename="${safe(name)}.${format}"`,
    "cache-control": "no-store",
  };
  if (request.method === "HEAD") {
    onEnd();
    return new Response(null, { headers });
  }
  return new Response(await byteStream(exported(source, format), { clock, onEnd }), { headers });
}

async function plotted(
  { queries, readings }: DataRoutesOptions,
  request: DataRequest,
  scope: Scope,
): Promise<Response> {
  const { sourceIds, span } = await asked(request, scope);
  const buckets = Number(request.query("buckets") ?? 300);
  if (!Number.isInteger(buckets) || buckets < 1 || buckets > 5_000) {
    throw new ConnectError("buckets: it is a number from 1 to 5000", Code.InvalidArgument);
  }
  const path = jsonPath(request.query("path") ?? "");
  const { fromUs, widthUs, ...lists } = await plot(queries, readings, {
    sourceIds,
    path,
    span,
    buckets,
    signal: request.signal,
  });
  const start = new Date(fromUs / 1_000).toISOString();
  const body = { start, bucket_seconds: widthUs / 1_000_000, ...lists };
  return Response.json(body, { headers: { "cache-control": "no-store" } });
}

/** What a request requests: one method of one resource, and a span of time. */
async function asked(
  { query }: DataRequest,
  scope: Scope,
): Promise<{ sourceIds: number[]; span: TimeSpan; name: string }> {
  const resourceName = query("resource_name") ?? "";
  const methodName = query("method_name") ?? "";
  const sources = await sourcesOfMethod(scope, {
    partId: query("part_id") ?? "",
    resourceName,
    resourceSubtype: query("resource_subtype") ?? "",
    methodName,
  });
  const span = readSpan(time("start", query("start")), time("end", query("end")));
  return { sourceIds: sources.map(({ id }) => id), span, name: `${resourceName}-${methodName}` };
}

function time(name: string, text: string | undefined) {
  if (text === undefined || text === "") return undefined;
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return timestampFromDate(date);
  throw new ConnectError(
    `${name}: ${JSON.stringify(text)} is no time; write 2026-01-02T03:04:05Z`,
    Code.InvalidArgument,
  );
}

/** A text as it may stand in a header. */
function safe(text: string): string {
  return text.replaceAll(/[^\w.-]/g, "_");
}
