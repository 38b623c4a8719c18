import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { DataType, MimeType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { UploadBinaryDataToDatasetsRequestSchema } from "../../shared/gen/viam/service/datamanager/v1/data_manager_pb.ts";
import { pathUploads } from "./asked_uploads.ts";
import { call, type DataRig, withRig } from "./testing.ts";

const { signal } = call;

function uploadsOf(rig: DataRig, untrusted = false) {
  const cloud = { client: rig.cloud.client, partId: "part" };
  return pathUploads({ cloud, home: rig.home, untrusted, log: rig.log });
}

async function put(path: string, content: string): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, content);
}

Deno.test("pathUploads() uploads a file with its marks, and leaves it where it is", () =>
  withRig(async (rig) => {
    const path = join(rig.home, "notes/tag=a/x.txt");
    await put(path, "hello");
    const uploads = uploadsOf(rig);
    const result = await uploads(path, { tags: ["t"], datasetIds: ["d"] }, signal);
    assert.deepEqual(result, {
      filesUploaded: 1n,
      filesFailed: 0n,
      bytesUploaded: 5n,
      bytesTotal: 5n,
      ids: ["1"],
    });
    const [upload] = rig.cloud.uploads;
    assert.deepEqual([upload?.metadata.tags, upload?.metadata.datasetIds], [["t", "a"], ["d"]]);
    assert.equal(new TextDecoder().decode(upload?.bytes), "hello");
    assert.equal(await Deno.readTextFile(path), "hello");
  }));

Deno.test("pathUploads() uploads a folder, counts what fails and leaves capture files alone", () =>
  withRig(async (rig) => {
    for (const name of ["a.txt", "b/c.txt", "b/bad.txt", "x.capture", "y.prog"]) {
      await put(join(rig.home, "more", name), name);
    }
    rig.cloud.refuse = ({ fileName }) => {
      if (fileName.endsWith("bad.txt")) throw new ConnectError("no room", Code.ResourceExhausted);
    };
    const result = await uploadsOf(rig)("more", { tags: [], datasetIds: [] }, signal);
    assert.deepEqual([result.filesUploaded, result.filesFailed], [2n, 1n]);
    assert.deepEqual([result.bytesUploaded, result.bytesTotal], [12n, 21n]);
    assert.match(rig.log.text(), /a file is not uploaded: .*no room/);
    assert.match(rig.log.text(), /a file of the capture is left/);
  }));

Deno.test("pathUploads() refuses what is not there, not allowed or has no cloud to go to", () =>
  withRig(async (rig) => {
    const marks = { tags: [], datasetIds: [] };
    await assert.rejects(uploadsOf(rig)("nothing", marks, signal), { code: Code.NotFound });
    const untrusted = uploadsOf(rig, true);
    await assert.rejects(untrusted("/etc/hostname", marks, signal), {
      code: Code.PermissionDenied,
    });
    await assert.rejects(untrusted("capture/../server.db", marks, signal), /-untrusted-env/);
    const alone = pathUploads({
      cloud: undefined,
      home: rig.home,
      untrusted: false,
      log: rig.log,
    });
    await assert.rejects(alone("x", marks, signal), { code: Code.FailedPrecondition });
    assert.equal(rig.cloud.uploads.length, 0);
  }));

// One row for each kind of binary.
const FORMS: readonly [MimeType, string, string][] = [
  [MimeType.UNSPECIFIED, "", ""],
  [MimeType.IMAGE_JPEG, "image/jpeg", ".jpeg"],
  [MimeType.IMAGE_PNG, "image/png", ".png"],
  [MimeType.APPLICATION_PCD, "pointcloud/pcd", ".pcd"],
  [MimeType.VIDEO_MP4, "video/mp4", ".mp4"],
];
for (const [mimeType, written, extension] of FORMS) {
  Deno.test(`uploadBinaryDataToDatasets() uploads ${written || "bytes of no kind"} with tags and datasets`, () =>
    withRig(async (rig) => {
      const manager = await rig.start({ tags: ["all"], sync_disabled: true });
      const binaryData = new Uint8Array(200_000).map((_, index) => index % 251);
      const request = { binaryData, mimeType, tags: ["all", "t"], datasetIds: ["d1", "d2"] };
      await manager.uploadBinaryDataToDatasets(
        create(UploadBinaryDataToDatasetsRequestSchema, request),
        call,
      );
      await manager.close();
      const [upload] = rig.cloud.uploads;
      assert.ok(upload);
      const { metadata } = upload;
      assert.deepEqual([metadata.type, metadata.partId], [DataType.FILE, "part"]);
      assert.deepEqual([metadata.mimeType, metadata.fileExtension], [written, extension]);
      assert.deepEqual([metadata.tags, metadata.datasetIds], [["all", "t"], ["d1", "d2"]]);
      assert.deepEqual(upload.bytes, binaryData);
      assert.equal(upload.pieces, 4);
    }));
}

Deno.test("uploadBinaryDataToDatasets() refuses an empty binary, and tells what the cloud answered", () =>
  withRig(async (rig) => {
    const manager = await rig.start({ sync_disabled: true });
    const ask = (binaryData: Uint8Array) =>
      manager.uploadBinaryDataToDatasets(
        create(UploadBinaryDataToDatasetsRequestSchema, { binaryData, datasetIds: ["d"] }),
        call,
      );
    await assert.rejects(ask(new Uint8Array()), { code: Code.InvalidArgument });
    rig.cloud.refuse = () => {
      throw new ConnectError("the quota is used up", Code.ResourceExhausted);
    };
    await assert.rejects(ask(new Uint8Array(3)), { code: Code.ResourceExhausted });
    await manager.close();
  }));
