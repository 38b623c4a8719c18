import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import {
  PackageService,
  PackageType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { createPackage, gzip } from "./packages_testing.ts";

function blobsOf(cloud: TestCloud): string[] {
  const names = (folder: string) => [...Deno.readDirSync(cloud.path(folder))];
  return [...names("blobs"), ...names("blobs/incoming")]
    .filter((entry) => entry.isFile).map((entry) => entry.name);
}

Deno.test("CreatePackage() stores what GetPackage() then tells", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const client = cloud.client(PackageService, apiKey(made));
  const contents = gzip("weights", 10_000);

  const created = await createPackage(client, made.org_id, "cats", {
    type: PackageType.ML_MODEL,
    version: "2026-08-20",
    metadata: { model_type: "classification" },
    contents,
    chunk: 999,
  });
  const id = `${made.org_id}/cats`;
  const { package: found } = await client.getPackage({ id, version: "latest", includeUrl: true });

  assert.deepEqual({ ...created, $typeName: undefined }, {
    $typeName: undefined,
    id,
    version: "2026-08-20",
  });
  assert.equal(found?.id, id);
  assert.equal(found.info?.version, "2026-08-20");
  assert.equal(found.info.type, PackageType.ML_MODEL);
  assert.equal(found.info.platform, "any");
  assert.deepEqual(found.info.metadata, { model_type: "classification" });
  assert.match(found.checksum, /^[A-Za-z0-9+/]{6}==$/);
  assert.match(
    found.url,
    /^http:\/\/127\.0\.0\.1:8080\/packages\/[0-9a-f-]{36}\/cats-2026-08-20\./,
  );
  const [blob = ""] = blobsOf(cloud);
  const stored = await Deno.readFile(cloud.path(`blobs/${blob}`));
  assert.equal(
    createHash("sha256").update(stored).digest("hex"),
    createHash("sha256").update(contents).digest("hex"),
  );
  const withoutUrl = await client.getPackage({ id, version: "" });
  assert.equal(withoutUrl.package?.url, "");
});

Deno.test("CreatePackage() refuses what is wrong, names it and leaves nothing", async () => {
  await using cloud = await TestCloud.open({ packageLimitBytes: 2_000 });
  const made = await cloud.bootstrap();
  const client = cloud.client(PackageService, apiKey(made));
  await createPackage(client, made.org_id, "taken", { version: "1.0.0" });
  const create = (name: string, options: Parameters<typeof createPackage>[3] = {}) =>
    failure(createPackage(client, made.org_id, name, options));
  const cases: [Promise<{ code: number; message: string }>, Code, RegExp][] = [
    [create(""), Code.InvalidArgument, /^info\.name: "" is no name/],
    [create("../x"), Code.InvalidArgument, /^info\.name: /],
    [create("m", { version: "latest" }), Code.InvalidArgument, /^info\.version: .*newest/],
    [create("m", { version: "1.2" }), Code.InvalidArgument, /^info\.version: .*three numbers/],
    [create("m", { platform: "amiga" }), Code.InvalidArgument, /^info\.platform: .*linux\/arm64/],
    [create("m", { type: 0 }), Code.InvalidArgument, /^info\.type: 0 is no type/],
    [create("m", { contents: new Uint8Array(50) }), Code.InvalidArgument, /^contents: a gzipped/],
    [create("m", { contents: new Uint8Array() }), Code.InvalidArgument, /^contents: a gzipped/],
    [create("m", { contents: gzip("x", 3_000) }), Code.ResourceExhausted, /larger than 2000 bytes/],
    [create("taken"), Code.AlreadyExists, /^version: taken has 1\.0\.0 for any already/],
    [create("taken", { type: PackageType.ARCHIVE }), Code.AlreadyExists, /^name: .*type module/],
    [
      failure(createPackage(client, crypto.randomUUID(), "m")),
      Code.NotFound,
      /^no organization with id/,
    ],
    [
      failure(client.createPackage(async function* () {}())),
      Code.InvalidArgument,
      /first message of an upload/,
    ],
  ];
  for (const [call, code, message] of cases) {
    const failed = await call;
    assert.match(failed.message, message);
    assert.equal(failed.code, code, failed.message);
  }
  assert.equal(blobsOf(cloud).length, 1);
  const { packages } = await client.listPackages({ organizationId: made.org_id });
  assert.equal(packages.length, 1);
});

Deno.test("CreatePackage() leaves nothing when its caller leaves or falls silent", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const client = cloud.client(PackageService, apiKey(made));
  const upload = (signal: AbortSignal, sent: () => void) =>
    client.createPackage(
      async function* () {
        const info = { organizationId: made.org_id, name: "m", version: "1.0.0", type: 3 };
        yield { package: { case: "info" as const, value: info } };
        yield { package: { case: "contents" as const, value: gzip("first half") } };
        sent();
        await new Promise(() => undefined);
      }(),
      { signal },
    );

  const leaving = new AbortController();
  const left = failure(upload(leaving.signal, () => leaving.abort()));
  assert.equal((await left).code, Code.Canceled);
  const half = Promise.withResolvers<void>();
  const silent = failure(upload(new AbortController().signal, half.resolve));
  await half.promise;
  await clock.advance(61_000);
  const { code, message } = await silent;
  assert.equal(code, Code.DeadlineExceeded, message);
  await waitFor(() => blobsOf(cloud).length === 0, { deadlineMs: 60_000, what: "an empty folder" });
});

Deno.test("CreatePackage() stores a version once when two upload it at the same time", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const client = cloud.client(PackageService, apiKey(made));
  const uploads = await Promise.allSettled(
    [1, 2, 3].map((at) =>
      createPackage(client, made.org_id, "m", { contents: gzip(`upload ${at}`, 5_000), chunk: 50 })
    ),
  );
  const failed = uploads.filter((upload) => upload.status === "rejected");
  assert.equal(failed.length, 2);
  for (const { reason } of failed) assert.equal(reason.code, Code.AlreadyExists, String(reason));
  assert.equal(blobsOf(cloud).length, 1);
});

Deno.test("GetPackage() gives a part what runs on its computer", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const client = cloud.client(PackageService, apiKey(made));
  for (const platform of ["linux/amd64", "linux/arm64"]) {
    await createPackage(client, made.org_id, "m", { platform });
  }
  await createPackage(client, made.org_id, "m", { platform: "linux/amd64", version: "1.1.0" });
  const id = `${made.org_id}/m`;
  await cloud.client(RobotService, partSecret(made)).config({
    id: made.part_id,
    agentInfo: { platform: "linux/arm64" },
  });
  const asPart = cloud.client(PackageService, partSecret(made));

  const { package: own } = await asPart.getPackage({ id, version: "latest" });
  const { package: other } = await client.getPackage({
    id,
    platform: "linux/amd64",
    version: "^1",
  });
  const ambiguous = await failure(client.getPackage({ id, version: "1.0.0" }));
  const missing = await failure(asPart.getPackage({ id, version: "1.1.0" }));

  assert.deepEqual([own?.info?.version, own?.info?.platform], ["1.0.0", "linux/arm64"]);
  assert.deepEqual([other?.info?.version, other?.info?.platform], ["1.1.0", "linux/amd64"]);
  assert.equal(ambiguous.code, Code.InvalidArgument);
  assert.match(
    ambiguous.message,
    /^platform: .* has files for linux\/a.*, linux\/a.*; name the one/,
  );
  assert.equal(missing.code, Code.NotFound);
  assert.match(
    missing.message,
    /has no version 1\.1\.0 for linux\/arm64; there are 1\.1\.0 \(linux/,
  );
});

Deno.test("PackageService keeps organisations apart and parts from writing", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ organization: "Other" });
  const owner = cloud.client(PackageService, apiKey(made));
  const stranger = cloud.client(PackageService, apiKey(other));
  const part = cloud.client(PackageService, partSecret(made));
  await createPackage(owner, made.org_id, "m");
  const id = `${made.org_id}/m`;

  assert.equal((await failure(stranger.getPackage({ id }))).code, Code.NotFound);
  const listed = await stranger.listPackages({ organizationId: made.org_id });
  assert.deepEqual(listed.packages, []);
  const foreign = await failure(createPackage(stranger, made.org_id, "x"));
  assert.equal(foreign.code, Code.NotFound);
  assert.equal((await part.getPackage({ id })).package?.id, id);
  assert.equal((await part.listPackages({ organizationId: made.org_id })).packages.length, 1);
  const codes = [
    await failure(createPackage(part, made.org_id, "x")),
    await failure(part.deletePackage({ id, version: "1.0.0" })),
    await failure(cloud.client(PackageService).getPackage({ id })),
  ].map(({ code }) => code);
  assert.deepEqual(codes, [Code.PermissionDenied, Code.PermissionDenied, Code.Unauthenticated]);
});

Deno.test("ListPackages() filters, DeletePackage() removes a version with its files", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const client = cloud.client(PackageService, apiKey(made));
  await createPackage(client, made.org_id, "a", { version: "1.0.0", platform: "linux/amd64" });
  await createPackage(client, made.org_id, "a", { version: "1.0.0", platform: "linux/arm64" });
  await createPackage(client, made.org_id, "a", { version: "1.1.0" });
  await createPackage(client, made.org_id, "b", { version: "1.0.0", type: PackageType.ARCHIVE });
  const list = async (filter: { name?: string; version?: string; type?: PackageType } = {}) => {
    const { packages } = await client.listPackages({ organizationId: made.org_id, ...filter });
    return packages.map(({ info }) => `${info?.name} ${info?.version} ${info?.platform}`).sort();
  };
  const a10 = ["a 1.0.0 linux/amd64", "a 1.0.0 linux/arm64"];

  assert.deepEqual(await list(), [...a10, "a 1.1.0 any", "b 1.0.0 any"]);
  assert.deepEqual(await list({ name: "a", version: "1.0.0" }), a10);
  assert.deepEqual(await list({ type: PackageType.ARCHIVE }), ["b 1.0.0 any"]);
  const id = `${made.org_id}/a`;
  await client.deletePackage({ id, version: "1.0.0", type: PackageType.MODULE });
  assert.deepEqual(await list({ name: "a" }), ["a 1.1.0 any"]);
  assert.equal(blobsOf(cloud).length, 2);
  const again = await failure(client.deletePackage({ id, version: "1.0.0" }));
  assert.equal(again.code, Code.NotFound);
  const latest = await failure(client.deletePackage({ id, version: "latest" }));
  assert.equal(latest.code, Code.NotFound);
});

Deno.test("CreatePackage() leaves a package whole or not at all, wherever the cloud is killed", async () => {
  const source = `
    import { systemClock } from "../../../shared/base/time/clock.ts";
    import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
    import { systemRandom as random } from "../../storage/keys/random.ts";
    import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
    import { PackageStore } from "./package_store.ts";
    const [dataDir, orgId, version] = Deno.args;
    const { database } = await openDataFolder(dataDir, random);
    const store = new PackageStore({
      queries: database.queries, clock: systemClock, random, limitBytes: 10_000,
      blobs: await FolderBlobStore.open(dataDir + "/blobs"), changes: { drain: async () => {} },
    });
    async function* contents() { yield new Uint8Array(900); yield new Uint8Array(900); }
    const wanted = { orgId, name: "m", type: "module", version, platform: "any",
      metadata: {}, files: [] };
    await store.upload(wanted, contents(), { type: "api-key", id: "k" });`;
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const client = cloud.client(PackageService, apiKey(made));
  const upload = async (version: string, faultPoint: string) => {
    const args = [cloud.dataDir, made.org_id, version];
    const child = await runFaultChild(source, {
      folder: import.meta.dirname ?? ".",
      isLarge: true,
      faultPoint,
      args,
    });
    assert.equal(child.signal, "SIGKILL", child.stderr);
  };
  await upload("1.0.0", "packages.blob.writing#2");
  await upload("1.0.0", "packages.blob.before-rename");
  await upload("1.0.0", "packages.blob.after-rename");
  await upload("1.0.0", "packages.upload.before-commit");
  const { packages } = await client.listPackages({ organizationId: made.org_id });
  assert.deepEqual(packages, []);

  await upload("1.0.0", "packages.upload.after-commit");
  const { package: found } = await client.getPackage({ id: `${made.org_id}/m` });
  assert.equal(found?.info?.version, "1.0.0");
  const file = await cloud.folder.database.queries.selectFrom("package_files").selectAll()
    .executeTakeFirstOrThrow();
  const { size } = await Deno.stat(join(cloud.dataDir, "blobs", file.id));
  assert.equal(size, 1_800);
  assert.equal(file.size, 1_800);
});
