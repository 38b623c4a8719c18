import assert from "node:assert/strict";
import { Code, createClient, type Transport } from "@connectrpc/connect";
import { ReleaseService } from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { imageMetadata } from "../data/ingest/data_testing.ts";
import { gzip } from "../registry/packages/packages_testing.ts";
import { script } from "../releases/catalogue/releases_testing.ts";
import { failure, TestCloud } from "./cloud_testing.ts";

type Made = Awaited<ReturnType<TestCloud["bootstrap"]>>;

/** Messages of which the last ones are sent when something has happened. */
async function* halted<T>(
  first: readonly T[],
  happens: () => Promise<unknown>,
  last: readonly T[],
) {
  yield* first;
  await happens();
  yield* last;
}

/** Uploads with a key of its own, which is revoked in the middle; how that fails. */
async function revokedMidway(
  cloud: TestCloud,
  made: Made,
  upload: (transport: Transport, revoke: () => Promise<unknown>) => Promise<unknown>,
) {
  const owner = cloud.app(made);
  const { id, key } = await owner.createKey({
    name: "stolen",
    authorizations: [{
      ...{ authorizationId: "organization_owner", resourceType: "organization" },
      resourceId: made.org_id,
    }],
  });
  const transport = cloud.transport({ type: "api-key", entity: id, payload: key });
  return await failure(upload(transport, () => owner.deleteKey({ id })));
}

Deno.test("an upload ends when its caller's key is revoked in the middle, and nothing is kept", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { moduleId } = await cloud.app(made).createModule({
    ...{ organizationId: made.org_id, name: "arm" },
  });
  const bytes = gzip("half and half", 1_000);
  const [head, tail] = [bytes.subarray(0, 500), bytes.subarray(500)];
  const program = script("the server");

  const codes = {
    package: await revokedMidway(cloud, made, (transport, revoke) => {
      const piece = (value: Uint8Array<ArrayBuffer>) => ({
        package: { case: "contents" as const, value },
      });
      const value = { organizationId: made.org_id, name: "m", version: "1.0.0" };
      const info = { ...value, type: PackageType.ARCHIVE };
      const first = { package: { case: "info" as const, value: info } };
      return createClient(PackageService, transport).createPackage(
        halted([first, piece(head)], revoke, [piece(tail)]),
      );
    }),
    module: await revokedMidway(cloud, made, (transport, revoke) => {
      const piece = (value: Uint8Array<ArrayBuffer>) => ({
        moduleFile: { case: "file" as const, value },
      });
      const value = { moduleId, version: "1.0.0", platform: "any" };
      const first = { moduleFile: { case: "moduleFileInfo" as const, value } };
      return createClient(AppService, transport).uploadModuleFile(
        halted([first, piece(head)], revoke, [piece(tail)]),
      );
    }),
    release: await revokedMidway(cloud, made, (transport, revoke) => {
      const piece = (value: Uint8Array<ArrayBuffer>) => ({
        piece: { case: "contents" as const, value },
      });
      const value = { binary: "machine-server", version: "1.0.0", platform: "linux/amd64" };
      const first = { piece: { case: "info" as const, value } };
      // All of it has come: only the end of the stream has not.
      return createClient(ReleaseService, transport).addRelease(
        halted([first, piece(program)], revoke, []),
      );
    }),
    file: await revokedMidway(cloud, made, (transport, revoke) => {
      const piece = (data: Uint8Array<ArrayBuffer>) => ({
        uploadPacket: { case: "fileContents" as const, value: { data } },
      });
      const value = imageMetadata(made.part_id);
      const first = { uploadPacket: { case: "metadata" as const, value } };
      return createClient(DataSyncService, transport).fileUpload(
        halted([first, piece(head)], revoke, [piece(tail)]),
      );
    }),
    capture: await revokedMidway(cloud, made, (transport, revoke) => {
      const piece = (value: Uint8Array<ArrayBuffer>) => ({
        uploadPacket: { case: "data" as const, value },
      });
      const value = { uploadMetadata: imageMetadata(made.part_id) };
      const first = { uploadPacket: { case: "metadata" as const, value } };
      return createClient(DataSyncService, transport)
        .streamingDataCaptureUpload(halted([first, piece(head)], revoke, [piece(tail)]));
    }),
  };

  for (const [what, { code }] of Object.entries(codes)) {
    assert.equal(code, Code.Unauthenticated, what);
  }
  const { queries } = cloud.folder.database;
  for (const table of ["package_files", "releases", "binary_data"] as const) {
    const rows = await queries.selectFrom(table).selectAll().execute();
    assert.deepEqual(rows, [], table);
  }
  for (const folder of ["blobs", "releases", "data-files"]) {
    const left = [...Deno.readDirSync(cloud.path(folder))].filter(({ isFile }) => isFile);
    assert.deepEqual(left, [], folder);
  }
});
