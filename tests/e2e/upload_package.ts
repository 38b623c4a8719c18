import { createClient } from "@connectrpc/connect";
import {
  createPackage,
  type UploadOptions,
} from "../../cloud/registry/packages/packages_testing.ts";
import { tarGzOf } from "../../shared/transfer/archive/testing.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import type { Rig } from "./rig.ts";

const CHUNK_BYTES = 32 * 1024;

/** Uploads a version of a package of the rig's organisation. */
export async function uploadPackage(
  rig: Rig,
  name: string,
  options: UploadOptions,
): Promise<void> {
  const { accessToken } = await rig.cloud();
  const transport = createGrpcTransport({
    baseUrl: rig.cloudUrl,
    interceptors: [(next) => (request) => {
      request.header.set("authorization", `Bearer ${accessToken}`);
      return next(request);
    }],
  });
  try {
    const packages = createClient(PackageService, transport);
    const { org_id } = rig.bootstrapped;
    await createPackage(packages, org_id, name, { chunk: CHUNK_BYTES, ...options });
  } finally {
    transport.close();
  }
}

/** Uploads a version of a model, with these files by their paths, as a training job does it. */
export async function uploadModel(
  rig: Rig,
  name: string,
  version: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  const contents = tarGzOf(Object.entries(files).map(([path, content]) => ({ path, content })));
  await uploadPackage(rig, name, { type: PackageType.ML_MODEL, version, contents });
}
