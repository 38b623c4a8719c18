/** For tests: a server for files that lies as the test wants. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { Crc32c } from "../../base/files/crc32c.ts";

/** Bytes that no compression makes smaller. */
export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, Math.min(at + 65_536, length)));
  }
  return bytes;
}

/** A file on the server, and how badly it is served. */
export interface ServedFile {
  bytes: Uint8Array<ArrayBuffer>;
  contentType?: string;
  /** Default: the right ones. */
  crc32c?: string | undefined;
  sha256?: string | undefined;
  etag?: string | undefined;
  /** False: answers whole files only. */
  ranges?: boolean;
  /** Answers a request for a range with this status, or with this false range. */
  rangeStatus?: number;
  contentRange?: string;
  /** Says no length. */
  chunked?: boolean;
  /** A false length. */
  contentLength?: number;
  /** The connection of each next GET ends after so many bytes. */
  cutAfter?: number[];
  /** Nothing more comes after so many bytes. */
  hangAfter?: number;
  status?: number;
  /** Answers to HEAD with this status. */
  headStatus?: number;
  redirect?: string;
  headers?: Record<string, string>;
}

/** A request that the server got. */
export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
}

/** A real HTTP server on a free port of this host. */
export class FileServer {
  readonly files = new Map<string, ServedFile>();
  readonly requests: SeenRequest[] = [];
  readonly #server: Server;
  readonly #port: number;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#port = port;
    server.on("request", (request, response) => this.#answer(request, response));
  }

  static async start(): Promise<FileServer> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new FileServer(server, (server.address() as AddressInfo).port);
  }

  /** `http://127.0.0.1:port`. */
  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Requests of one method, in short: path and range. */
  seen(method: string): string[] {
    return this.requests.filter((one) => one.method === method)
      .map(({ path, headers }) => [path, headers["range"]].filter(Boolean).join(" "));
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(request.url ?? "/", this.origin);
    const method = request.method ?? "";
    this.requests.push({ method, path: pathname, headers: { ...request.headers } });
    const file = this.files.get(pathname);
    if (!file) return void response.writeHead(404).end("not here");
    if (file.redirect) return void response.writeHead(302, { location: file.redirect }).end();
    if (method === "HEAD" && file.headStatus) return void response.writeHead(file.headStatus).end();
    if (file.status) return void response.writeHead(file.status).end("no");
    this.#serve(request, response, file);
  }

  #serve(request: IncomingMessage, response: ServerResponse, file: ServedFile): void {
    const { bytes } = file;
    const headers = headersOf(file);
    const wanted = /^bytes=(\d+)-$/.exec(request.headers.range ?? "");
    if (wanted && file.rangeStatus) return void response.writeHead(file.rangeStatus).end();
    const isSame = request.headers["if-range"] === (headers["etag"] ?? headers["last-modified"]);
    const from = wanted && file.ranges !== false && isSame ? Number(wanted[1]) : 0;
    if (from > 0) headers["content-range"] = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
    if (wanted && file.contentRange) headers["content-range"] = file.contentRange;
    const length = file.contentLength ?? bytes.length - from;
    if (!file.chunked) headers["content-length"] = String(length);
    response.writeHead(headers["content-range"] ? 206 : 200, headers);
    if (request.method === "HEAD") return void response.end();
    const cut = file.cutAfter?.shift();
    const most = Math.min(cut ?? Infinity, file.hangAfter ?? Infinity);
    if (most === Infinity) return void response.end(bytes.subarray(from, from + length));
    response.write(bytes.subarray(from, from + most), () => {
      if (cut !== undefined) request.socket.destroy();
    });
  }
}

function headersOf(file: ServedFile): Record<string, string> {
  const { bytes } = file;
  const crc32c = "crc32c" in file ? file.crc32c : new Crc32c().update(bytes).toBase64();
  const sha256 = "sha256" in file ? file.sha256 : sha256Of(bytes);
  const etag = "etag" in file ? file.etag : `"${sha256Of(bytes).slice(0, 16)}"`;
  return {
    "content-type": file.contentType ?? "application/x-gzip",
    ...(crc32c && { "x-goog-hash": `crc32c=${crc32c}` }),
    ...(sha256 && { "x-checksum-sha256": sha256 }),
    ...(etag && { etag }),
    ...file.headers,
  };
}

/** Hexadecimal. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Runs a test in a folder of its own. */
export async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "download-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
