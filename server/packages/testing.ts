/** For tests: archives made by hand, a server for them, a cloud that knows where they are. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
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
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Header } from "tar/header";
import type { EntryTypeName } from "tar/types";
import { Crc32c } from "../../shared/files/crc32c.ts";
import {
  type GetPackageRequest,
  PackageService,
} from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { createInProcessTransport } from "../../shared/rpc/in_process.ts";
import { RpcRouter } from "../../shared/rpc/router.ts";

/** One entry of an archive, as bad as the test wants it. */
export interface TestEntry {
  path: string;
  type?: EntryTypeName;
  content?: string | Uint8Array;
  mode?: number;
  linkpath?: string;
  /** The size that the header tells, where it shall lie. */
  size?: number;
}

/** A tar archive of these entries in this order. Nothing is checked. */
export function tarOf(entries: readonly TestEntry[]): Uint8Array<ArrayBuffer> {
  const blocks: Uint8Array[] = [];
  for (const { path, type = "File", content = "", mode = 0o644, linkpath, size } of entries) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const block = Buffer.alloc(512);
    const mtime = new Date("2026-01-02T03:04:05Z");
    new Header({
      ...{ path, type, mode, mtime, uid: 0, gid: 0 },
      size: size ?? bytes.length,
      ...(linkpath !== undefined && { linkpath }),
    }).encode(block, 0);
    blocks.push(block, bytes, new Uint8Array((512 - bytes.length % 512) % 512));
  }
  return Uint8Array.from(Buffer.concat([...blocks, new Uint8Array(1024)]));
}

/** The same, compressed. */
export function tarGzOf(entries: readonly TestEntry[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(gzipSync(tarOf(entries), { level: 1 }));
}

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

/** A real HTTP server on a free port of this computer. */
export class ArchiveServer {
  readonly files = new Map<string, ServedFile>();
  readonly requests: SeenRequest[] = [];
  readonly #server: Server;
  readonly #port: number;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#port = port;
    server.on("request", (request, response) => this.#answer(request, response));
  }

  static async start(): Promise<ArchiveServer> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ArchiveServer(server, (server.address() as AddressInfo).port);
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
    const isSame = request.headers["if-range"] === headers["etag"];
    const from = wanted && file.ranges !== false && isSame ? Number(wanted[1]) : 0;
    if (from > 0) headers["content-range"] = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
    headers["content-length"] = String(bytes.length - from);
    response.writeHead(from > 0 ? 206 : 200, headers);
    if (request.method === "HEAD") return void response.end();
    const cut = file.cutAfter?.shift();
    const most = Math.min(cut ?? Infinity, file.hangAfter ?? Infinity);
    if (most === Infinity) return void response.end(bytes.subarray(from));
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

/** A cloud that knows packages by "org/name version". */
export class PackageCloudFake {
  readonly asked: GetPackageRequest[] = [];
  /** Where each package is; `version` is the answer to "latest". */
  readonly packages = new Map<string, { url: string; checksum?: string; version?: string }>();
  /** The error of every question, while it is set. */
  failure: Code | undefined;

  readonly client = createClient(PackageService, createInProcessTransport(this.#router()));

  #router(): RpcRouter {
    const router = new RpcRouter();
    router.service(PackageService, {
      getPackage: (request) => {
        this.asked.push(request);
        if (this.failure !== undefined) throw new ConnectError("not now", this.failure);
        const found = this.packages.get(`${request.id} ${request.version}`);
        if (!found) throw new ConnectError(`no package ${request.id}`, Code.NotFound);
        const { url, checksum = "", version = request.version } = found;
        return { package: { id: request.id, url, checksum, info: { version } } };
      },
    });
    return router;
  }
}

/** All files, folders (with a slash) and links (with their target) below a folder, sorted. */
export async function treeOf(folder: string, below = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory, isSymlink } of Deno.readDir(join(folder, below))) {
    const path = below ? `${below}/${name}` : name;
    if (isSymlink) found.push(`${path} -> ${await Deno.readLink(join(folder, path))}`);
    else found.push(isDirectory ? `${path}/` : path);
    if (isDirectory) found.push(...await treeOf(folder, path));
  }
  return found.sort();
}

/** Runs a test in a folder of its own. */
export async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "packages-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
