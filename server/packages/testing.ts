/** For tests: archives made by hand, a cloud that knows where they are. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Header } from "tar/header";
import type { EntryTypeName } from "tar/types";
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
