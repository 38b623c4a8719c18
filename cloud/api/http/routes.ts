import { Code, ConnectError } from "@connectrpc/connect";
import { Hono } from "hono";
import {
  type AttemptLimiter,
  TOO_MANY_ATTEMPTS,
} from "../../../shared/cloud/auth/attempt_limiter.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import type { HttpHandler } from "../../../shared/rpc/server/server.ts";
import { opensPage, serveStaticFile, type StaticFile } from "./static_files.ts";

/** The answer to a request for a credentials file. */
export type CredentialsAnswer =
  | { readonly kind: "found"; readonly credentials: object }
  | { readonly kind: "wrong-key" }
  | { readonly kind: "not-allowed" }
  | { readonly kind: "no-such-part" };

/** What is for operators and their programs. */
export interface OperationRoutes {
  /** Whether the cloud can answer calls. */
  readonly ready: () => Promise<Response>;
  /** The OpenAPI document, JSON. */
  readonly openApi: () => string;
  /** By the header Authorization; left out: there are none here. */
  readonly metrics?: ((authorization: string | undefined) => Promise<Response>) | undefined;
}

export interface RoutesOptions {
  readonly operations: OperationRoutes;
  readonly files: ReadonlyMap<string, StaticFile>;
  /** The credentials file of a part, for the holder of an API key. */
  readonly credentials: (
    asked: { keyId: string; key: string; partId: string },
  ) => Promise<CredentialsAnswer>;
  /** A package file. */
  readonly downloads: (asked: {
    fileId: string;
    method: "GET" | "HEAD";
    header: (name: string) => string | undefined;
    query: (name: string) => string | undefined;
    peer: Peer;
  }) => Promise<Response>;
  /** Captured data: files, exports and plots. */
  readonly data: (asked: {
    path: readonly string[];
    method: "GET" | "HEAD";
    header: (name: string) => string | undefined;
    query: (name: string) => string | undefined;
    peer: Peer;
    /** Aborts when the caller left. */
    signal: AbortSignal;
  }) => Promise<Response>;
  /** Pages by which people sign in, and the audit log to download. */
  readonly account: (request: Request, peer: Peer, signal: AbortSignal) => Promise<Response>;
  /** Files of training runs on other hosts. */
  readonly trainingRuns: (asked: {
    jobId: string;
    file: string;
    method: string;
    header: (name: string) => string | undefined;
    peer: Peer;
    body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  }) => Promise<Response>;
  /** A logo of an organisation, for anybody. */
  readonly logos: (hash: string) => Promise<Response>;
  /** Origin that pages may show images of, beyond the cloud's own; left out: none. */
  readonly imageOrigin?: string | undefined;
  /** A file of a release. */
  readonly releases: (asked: {
    path: readonly string[];
    method: "GET" | "HEAD";
    header: (name: string) => string | undefined;
    peer: Peer;
  }) => Promise<Response>;
  /** Certificates of the authority that issues those of machines, PEM. */
  readonly authority: () => Promise<string>;
  readonly limiter: AttemptLimiter;
  /** What a caller sees of an error of the database; every other one as it is. */
  readonly callFailure: (error: unknown) => unknown;
  readonly log: Logger;
}

/** Of errors that their callers can do something about. */
const STATUS: Readonly<Partial<Record<Code, 400 | 503>>> = {
  [Code.InvalidArgument]: 400,
  [Code.ResourceExhausted]: 503,
  [Code.Unavailable]: 503,
};

/** Everything the cloud serves that is no RPC: the console, its health, credentials files. */
export function createRoutes(
  options: RoutesOptions,
): HttpHandler {
  const { files, log } = options;
  const headers = securityHeaders(options.imageOrigin);
  const app = new Hono<{ Bindings: { peer: Peer; signal: AbortSignal } }>();

  app.use(async (context, next) => {
    await next();
    // What people and machines have sent is served with a stricter policy of its own.
    for (const [name, value] of headers) {
      if (!context.res.headers.has(name)) context.header(name, value);
    }
  });

  app.get("/ca.pem", async (context) => {
    context.header("content-type", "application/x-pem-file");
    return context.body(await options.authority());
  });

  app.get("/healthz", (context) => context.json({ status: "ok" }));

  app.get("/readyz", () => options.operations.ready());

  app.get("/openapi.json", (context) => {
    context.header("content-type", "application/json");
    return context.body(options.operations.openApi());
  });

  app.get("/metrics", async (context) => {
    const { metrics } = options.operations;
    if (metrics) return await metrics(context.req.header("authorization"));
    const error = "metrics are served with --metrics-listen or --metrics-token";
    return context.json({ error }, 404);
  });

  app.get("/api/json1/config", async (context) => {
    const keyId = context.req.header("key_id");
    const key = context.req.header("key");
    const partId = context.req.query("id");
    if (!keyId || !key) {
      return context.json({ error: "the headers key_id and key with an API key are missing" }, 401);
    }
    if (!partId) return context.json({ error: "the parameter id with a part id is missing" }, 400);
    const outcome = await options.limiter.attempt({
      address: context.env.peer.address,
      credential: { type: "api-key", entity: keyId, payload: key },
    }, async () => {
      const answer = await options.credentials({ keyId, key, partId });
      return answer.kind === "wrong-key" ? undefined : answer;
    });
    if (outcome.kind === "refused") return context.json({ error: TOO_MANY_ATTEMPTS }, 429);
    if (outcome.kind === "wrong") {
      return context.json({ error: "invalid credentials of type api-key" }, 401);
    }
    const answer = outcome.value;
    switch (answer.kind) {
      case "found":
        context.header("cache-control", "no-store");
        return context.json(answer.credentials);
      case "not-allowed":
        return context.json({ error: "these api-key credentials do not manage that part" }, 403);
      case "no-such-part":
        return context.json({ error: `no part with id ${JSON.stringify(partId)}` }, 404);
    }
  });

  app.all(
    "/account/*",
    (context, next) => {
      const { peer, signal } = context.env;
      return isPage(context.req.path) ? next() : options.account(context.req.raw, peer, signal);
    },
  );

  app.get("/logos/:hash", (context) => options.logos(context.req.param("hash")));

  app.get("/packages/:id/:name", (context) =>
    options.downloads({
      fileId: context.req.param("id"),
      method: methodOf(context.req.raw),
      header: (name) => context.req.header(name),
      query: (name) => context.req.query(name),
      peer: context.env.peer,
    }));

  app.all("/training-runs/:job/:file", (context) =>
    options.trainingRuns({
      jobId: context.req.param("job"),
      file: context.req.param("file"),
      method: context.req.method,
      header: (name) => context.req.header(name),
      peer: context.env.peer,
      body: context.req.raw.body,
    }));

  app.get("/data/*", (context, next) =>
    isPage(context.req.path) ? next() : options.data({
      path: piecesOf(context.req.path).slice(1),
      method: methodOf(context.req.raw),
      signal: context.env.signal,
      header: (name) => context.req.header(name),
      query: (name) => context.req.query(name),
      peer: context.env.peer,
    }));

  app.get("/releases/*", (context, next) =>
    isPage(context.req.path) ? next() : options.releases({
      path: piecesOf(context.req.path).slice(1),
      method: methodOf(context.req.raw),
      header: (name) => context.req.header(name),
      peer: context.env.peer,
    }));

  app.get("*", (context) => {
    const header = (name: string) => context.req.header(name);
    const { path } = context.req;
    const file = files.get(path) ?? (opensPage(path, header) ? files.get("/") : undefined);
    return file ? serveStaticFile(file, header) : context.json({ error: "not found" }, 404);
  });

  app.notFound((context) => context.json({ error: "not found" }, 404));
  app.onError((error, context) => {
    const id = crypto.randomUUID().slice(0, 8);
    log.error("cannot answer a request", {
      event: "call_failed",
      id,
      path: context.req.path,
      error: String(error),
    });
    const failure = options.callFailure(error);
    const status = failure instanceof ConnectError ? STATUS[failure.code] : undefined;
    if (failure instanceof ConnectError && status) {
      return context.json({ error: failure.rawMessage }, status);
    }
    return context.json({ error: `internal error; the log has it under ${id}` }, 500);
  });

  return (request, peer, signal) => app.fetch(request, { peer, signal });
}

function securityHeaders(
  imageOrigin: string | undefined,
): readonly (readonly [string, string])[] {
  const images = ["'self'", "data:", "blob:", imageOrigin ?? ""].join(" ").trim();
  return [
    [
      "content-security-policy",
      `default-src 'self'; img-src ${images}; object-src 'none'; base-uri 'none'; ` +
      "form-action 'self'; frame-ancestors 'none'",
    ],
    ["x-content-type-options", "nosniff"],
    ["x-frame-options", "DENY"],
    ["referrer-policy", "no-referrer"],
    ["cross-origin-opener-policy", "same-origin"],
  ];
}

/** `/account`, `/data` and `/releases` are pages of the console; files are below them. */
function isPage(path: string): boolean {
  return piecesOf(path).length === 1;
}

/** Hono routes HEAD as GET and drops the body; that would leave a file open. */
function methodOf(request: Request): "GET" | "HEAD" {
  return request.method === "HEAD" ? "HEAD" : "GET";
}

/** The pieces of a path, decoded; none of a path that cannot be. */
function piecesOf(path: string): string[] {
  try {
    return path.split("/").filter((piece) => piece !== "").map(decodeURIComponent);
  } catch {
    return []; // A % that stands for nothing: there is no such file.
  }
}
