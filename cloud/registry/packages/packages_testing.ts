import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import {
  PackageService,
  PackageType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";

/** Bytes of a gzip file, different for each text. For tests. */
export function gzip(text = "package", size = 0): Uint8Array<ArrayBuffer> {
  const filler = size > 0 ? randomBytes(size) : new Uint8Array();
  const bytes = new Uint8Array([...new TextEncoder().encode(text), ...filler]);
  return new Uint8Array(gzipSync(bytes));
}

export interface UploadOptions {
  readonly version?: string;
  readonly platform?: string;
  readonly type?: PackageType;
  readonly metadata?: Record<string, string>;
  readonly contents?: Uint8Array;
  readonly chunk?: number;
}

/** Uploads a package in chunks. For tests. */
export function createPackage(
  client: Client<typeof PackageService>,
  organizationId: string,
  name: string,
  options: UploadOptions = {},
) {
  const { version = "1.0.0", type = PackageType.MODULE, contents = gzip(), chunk = 7 } = options;
  const { platform, metadata } = options;
  const info = {
    organizationId,
    name,
    version,
    type,
    ...(platform === undefined ? {} : { platform }),
    ...(metadata === undefined ? {} : { metadata }),
  };
  return client.createPackage(async function* () {
    yield await Promise.resolve({ package: { case: "info" as const, value: info } });
    for (let at = 0; at < contents.length; at += chunk) {
      const value = contents.subarray(at, at + chunk);
      yield { package: { case: "contents" as const, value } };
    }
  }());
}

/** Makes a module when it is not there, and uploads a version of it. For tests. */
export async function uploadModule(
  transport: Transport,
  moduleId: string,
  options: UploadOptions & { readonly entrypoint?: string } = {},
): Promise<void> {
  const app = createClient(AppService, transport);
  const [prefix = "", name = ""] = moduleId.split(":");
  const { organizations } = await app.listOrganizations({});
  const organization = organizations.find(({ id, publicNamespace }) =>
    id === prefix || publicNamespace === prefix
  );
  const { modules } = await app.listModules({});
  if (!modules.some((module) => module.name === name)) {
    await app.createModule({ organizationId: organization?.id ?? "", name });
  }
  await app.updateModule({ moduleId, entrypoint: options.entrypoint ?? "run.sh" });
  const info = {
    moduleId,
    version: options.version ?? "1.0.0",
    platform: options.platform ?? "any",
  };
  await app.uploadModuleFile(async function* () {
    yield await Promise.resolve({ moduleFile: { case: "moduleFileInfo" as const, value: info } });
    yield { moduleFile: { case: "file" as const, value: options.contents ?? gzip() } };
  }());
}
