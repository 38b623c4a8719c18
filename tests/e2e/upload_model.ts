import { createClient } from "@connectrpc/connect";
import { join } from "node:path";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { createGrpcTransport } from "../../shared/rpc/grpc_transport.ts";
import type { Rig } from "./rig.ts";

/** Makes a `.tar.gz` of texts and bytes by their paths. */
export async function packFiles(
  folder: string,
  name: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<string> {
  const content = join(folder, name);
  for (const [path, value] of Object.entries(files)) {
    await Deno.mkdir(join(content, path, ".."), { recursive: true });
    const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
    await Deno.writeFile(join(content, path), bytes);
  }
  const archive = join(folder, `${name}.tar.gz`);
  const args = ["-czf", archive, "-C", content, "."];
  const { success } = await new Deno.Command("tar", { args }).output();
  if (!success) throw new Error(`tar could not pack ${content}`);
  return archive;
}

/** Uploads a version of a model as a training job does it. */
export async function uploadModel(
  rig: Rig,
  name: string,
  version: string,
  archive: Uint8Array,
): Promise<void> {
  const { accessToken } = await rig.cloud();
  const transport = createGrpcTransport({
    baseUrl: rig.cloudUrl,
    interceptors: [(next) => (request) => {
      request.header.set("authorization", `Bearer ${accessToken}`);
      return next(request);
    }],
  });
  const info = {
    organizationId: rig.bootstrapped.org_id,
    name,
    version,
    type: PackageType.ML_MODEL,
  };
  try {
    await createClient(PackageService, transport).createPackage((async function* () {
      yield { package: { case: "info" as const, value: info } };
      yield { package: { case: "contents" as const, value: archive as Uint8Array<ArrayBuffer> } };
    })());
  } finally {
    transport.close();
  }
}
