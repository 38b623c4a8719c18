import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { MLInferenceService } from "../../shared/gen/viam/app/mlinference/v1/ml_inference_pb.ts";
import { flatTensor } from "../../shared/inference/flat_tensors.ts";
import type { Callers } from "../accounts/access/callers.ts";
import { notFound, type Scope } from "../accounts/access/scope.ts";
import { fileIdOf } from "../data/ingest/binary_ids.ts";
import { candidate } from "../registry/packages/package_service.ts";
import type { PackageStore } from "../registry/packages/package_store.ts";
import { chooseFile } from "../registry/packages/versions.ts";
import type { BlobReader, BlobStore } from "../storage/blobs/blob_store.ts";
import { annotationsOf } from "./annotations.ts";
import type { InferenceRunner } from "./inference_runner.ts";

export interface InferenceServiceOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly store: Pick<PackageStore, "filesOf">;
  /** Holds the packages of models. */
  readonly packages: BlobStore;
  /** Holds images. */
  readonly files: BlobStore;
  readonly runner: Pick<InferenceRunner, "run">;
}

/** Largest package and image, bytes: both are held in memory by the process that runs them. */
const MOST_PACKAGE_BYTES = 256 * 1024 * 1024;
const MOST_IMAGE_BYTES = 32 * 1024 * 1024;

/** `MLInferenceService`: runs TensorFlow Lite models of the registry on images of the cloud. */
export function inferenceService(
  { callers, store, packages, files, runner }: InferenceServiceOptions,
): ServiceImpl<typeof MLInferenceService> {
  return {
    async getInference(request, context) {
      const scope = await callers.scope(context);
      const { id: orgId } = await scope.organization(request.organizationId, "see");
      const model = await modelFile(scope, store, request);
      const image = await imageFile(
        scope,
        request.binaryDataId || (request.binaryId?.fileId ?? ""),
      );
      requireSize("registry_item_id: the model", model.size, MOST_PACKAGE_BYTES);
      requireSize("binary_data_id: the image", image.size, MOST_IMAGE_BYTES);
      using modelReader = await opened(packages, model.id);
      using imageReader = await opened(files, image.id);
      const { outputs, labels } = await runner.run({
        orgId,
        package: { reader: modelReader, size: model.size },
        image: { reader: imageReader, size: image.size },
      }, context.signal);
      return {
        outputTensors: {
          tensors: Object.fromEntries(outputs.map((output) => [output.name, flatTensor(output)])),
        },
        annotations: annotationsOf(outputs, labels),
      };
    },
  };
}

async function modelFile(
  scope: Scope,
  store: Pick<PackageStore, "filesOf">,
  { registryItemId, registryItemVersion }: {
    readonly registryItemId: string;
    readonly registryItemVersion: string;
  },
): Promise<{ readonly id: string; readonly size: number }> {
  const item = await scope.registryItem(registryItemId.replace("/", ":"), "see");
  if (item.type !== "ml_model") {
    throw new ConnectError(
      `registry_item_id: ${registryItemId} is a ${item.type}, not an ml_model`,
      Code.InvalidArgument,
    );
  }
  const choice = chooseFile((await store.filesOf([item.id])).map(candidate), {
    type: item.type,
    version: registryItemVersion,
    platform: undefined,
  });
  if (choice.kind === "found") return choice.file.row;
  const problem = choice.kind === "none" ? choice.problem : "has files for several platforms";
  throw new ConnectError(`registry_item_version: ${registryItemId} ${problem}`, Code.NotFound);
}

async function imageFile(
  scope: Scope,
  id: string,
): Promise<{ readonly id: string; readonly size: number }> {
  if (id === "") throw new ConnectError("binary_data_id: it is missing", Code.InvalidArgument);
  const row = await scope.binaryData().select(["binary_data.id", "binary_data.size"])
    .where("binary_data.id", "=", fileIdOf(id, "binary_data_id")).executeTakeFirst();
  if (!row) throw notFound("binary data", id);
  return row;
}

function requireSize(what: string, size: number, most: number): void {
  if (size <= most) return;
  throw new ConnectError(`${what} has more than ${most} bytes`, Code.InvalidArgument);
}

async function opened(store: BlobStore, id: string): Promise<BlobReader> {
  const reader = await store.read(id);
  if (reader) return reader;
  throw new ConnectError("its file is not there any more", Code.NotFound);
}
