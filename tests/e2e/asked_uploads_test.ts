/** Uploads that a program asks the machine for arrive in the cloud. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Code, type ConnectError } from "@connectrpc/connect";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { MimeType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { DataManagerService } from "../../shared/gen/viam/service/datamanager/v1/data_manager_pb.ts";
import { rigTest } from "./rig.ts";

rigTest("programs upload bytes and files of the machine with tags and datasets", async (rig) => {
  const data = { name: "data", api: "rdk:service:data_manager", model: "rdk:builtin:builtin" };
  await rig.bootstrap({
    ...rig.defaultConfig(),
    services: [{ ...data, attributes: { tags: ["shop"] } }],
  });
  await rig.startCloud();
  await rig.startServer();
  const cloud = await rig.cloud();
  const organizationId = rig.bootstrapped.org_id;
  const { id: datasetId } = await cloud.client(DatasetService).createDataset({
    name: "pictures",
    organizationId,
  });
  const server = await rig.server();
  const binaryData = new Uint8Array(150_000).map((_, index) => index % 251);
  const manager = server.client(DataManagerService);
  const picture = {
    name: "data",
    binaryData,
    mimeType: MimeType.IMAGE_PNG,
    tags: ["cat"],
    datasetIds: [datasetId],
  };
  await manager.uploadBinaryDataToDatasets(picture);
  await manager.uploadBinaryDataToDatasets(picture);

  const folder = join(rig.dir, "notes");
  await Deno.mkdir(join(folder, "inner"), { recursive: true });
  await Deno.writeTextFile(join(folder, "a.txt"), "aa");
  await Deno.writeTextFile(join(folder, "inner/b.txt"), "bbb");
  const robot = server.client(RobotService);
  const uploaded = await robot.uploadDataFromPath({
    path: folder,
    uploadMetadata: { tags: ["note"], datasetIds: [datasetId] },
  });
  assert.deepEqual([uploaded.filesUploaded, uploaded.filesFailed], [2n, 0n]);
  assert.deepEqual([uploaded.bytesUploaded, uploaded.bytesTotal], [5n, 5n]);
  assert.equal(uploaded.ids.length, 2);
  const nowhere = robot.uploadDataFromPath({ path: join(folder, "no.txt") });
  await assert.rejects(nowhere, (error: ConnectError) => error.code === Code.NotFound);
  const empty = robot.uploadDataFromPath({ path: "" });
  await assert.rejects(empty, (error: ConnectError) => error.code === Code.InvalidArgument);

  const found = await cloud.client(DataService).binaryDataByFilter({
    dataRequest: { filter: { datasetId }, limit: 10n },
    includeBinary: true,
  });
  const kept = found.data.map(({ binary, metadata }) => ({
    size: binary.length,
    tags: metadata?.captureMetadata?.tags.toSorted(),
    mimeType: metadata?.captureMetadata?.mimeType,
  })).sort((a, b) => a.size - b.size);
  assert.deepEqual(kept.map(({ size, tags }) => [size, tags]), [
    [2, ["note"]],
    [3, ["note"]],
    [150_000, ["cat", "shop"]],
  ]);
  assert.equal(kept[2]?.mimeType, "image/png");
});
