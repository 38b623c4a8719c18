import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { DataCaptureUploadRequestSchema } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { checkValues } from "../../shared/rpc/message_values.ts";
import type { Resource } from "../resources/graph/resource.ts";
import { call, type DataRig, filesIn, testSensor, withRig } from "./testing.ts";

const readings = { method: "Readings", capture_frequency_hz: 10 };

async function configureCounter(rig: DataRig): Promise<void> {
  let n = 0;
  await rig.configure(testSensor("s", () => ({ n: ++n }), readings));
}

/** Captures for a while with uploads switched off. */
async function capture(rig: DataRig, ms: number): Promise<void> {
  await configureCounter(rig);
  const manager = await rig.start({ sync_disabled: true });
  await (rig.clock as FakeClock).advance(ms);
  await manager.close();
  await rig.configure();
}

async function put(path: string, content: string | Uint8Array, modified?: Date): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  if (typeof content === "string") await Deno.writeTextFile(path, content);
  else await Deno.writeFile(path, content);
  if (modified) await Deno.utime(path, modified, modified);
}

Deno.test("DataManager uploads by itself every interval, and removes what the cloud has", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    await configureCounter(rig);
    const manager = await rig.start({ tags: ["t"] });
    await clock.advance(6_050);
    await waitFor(() => rig.cloud.uploads.length === 1, { deadlineMs: 60_000 });
    assert.deepEqual(rig.cloud.values.slice(0, 2), [{ n: 1 }, { n: 2 }]);
    const [{ metadata }] = rig.cloud.uploads as [(typeof rig.cloud.uploads)[0]];
    assert.equal(metadata.partId, "part");
    assert.deepEqual(metadata.tags, ["t"]);
    await waitFor(
      async () => (await filesIn(rig.folder)).every((name) => name.endsWith(".prog")),
      { deadlineMs: 60_000 },
    );
    await manager.close();
  }, { clock: new FakeClock() }));

Deno.test("sync() uploads oldest first though uploads are switched off", () =>
  withRig(async (rig) => {
    await capture(rig, 250);
    const [name] = await filesIn(rig.folder);
    const old = join(rig.folder, "a/old.txt");
    await put(old, "old", new Date("2020-01-01"));
    await Deno.utime(join(rig.folder, name!), new Date("2019-01-01"), new Date("2019-01-01"));
    const manager = await rig.start({ sync_disabled: true, maximum_num_sync_threads: 1 });
    await (rig.clock as FakeClock).advance(60_000);
    assert.equal(rig.cloud.uploads.length, 0);
    await manager.sync({}, call);
    assert.deepEqual(rig.cloud.uploads.map(({ kind }) => kind), ["capture", "file"]);
    assert.deepEqual(await filesIn(rig.folder), []);
    const { files, refused } = manager.getStatus()["sync"] as Record<string, unknown>;
    assert.deepEqual([files, refused], [2, 0]);
    await manager.close();
  }, { clock: new FakeClock() }));

Deno.test("sync() answers FAILED_PRECONDITION when the machine has no cloud", () =>
  withRig(async (rig) => {
    const manager = await rig.start();
    await assert.rejects(manager.sync({}, call), { code: Code.FailedPrecondition });
    await manager.close();
  }, { hasCloud: false }));

Deno.test("sync() streams a binary that is large in pieces of 64 KiB", () =>
  withRig(async (rig) => {
    const image = new Uint8Array(1_200_000).map((_, index) => index % 253);
    const driver = { getImages: () => ({ images: [{ image, mimeType: "image/jpeg" }] }) };
    await rig.configure({
      api: "rdk:component:camera",
      name: "c",
      driver: driver as Resource,
      capture: [{ method: "GetImages", capture_frequency_hz: 10 }],
    });
    const manager = await rig.start({ sync_disabled: true });
    await (rig.clock as FakeClock).advance(150);
    await manager.sync({}, call);
    const [upload] = rig.cloud.uploads;
    assert.deepEqual([upload!.kind, upload!.pieces], ["stream", Math.ceil(1_200_000 / 65_536)]);
    assert.deepEqual(upload!.bytes, image);
    assert.equal(upload!.metadata.fileExtension, ".jpeg");
    await manager.close();
  }, { clock: new FakeClock() }));

Deno.test("sync() sends a long file of readings in messages of so few values that clouds take them", () =>
  withRig(async (rig) => {
    const sizes: number[] = [];
    const note = rig.cloud.uploads.push.bind(rig.cloud.uploads);
    rig.cloud.uploads.push = (upload) => {
      const sensorContents = [...upload.readings];
      const request = create(DataCaptureUploadRequestSchema, { sensorContents });
      const bytes = toBinary(DataCaptureUploadRequestSchema, request);
      checkValues(DataCaptureUploadRequestSchema, bytes);
      sizes.push(bytes.length);
      return note(upload);
    };
    let n = 0;
    const wide = () => ({ n: ++n, flags: new Array(40_000).fill(false) });
    await rig.configure(testSensor("s", wide, readings));
    const manager = await rig.start({
      sync_disabled: true,
      maximum_capture_file_size_bytes: 16 * 1024 * 1024,
    });
    await (rig.clock as FakeClock).advance(1_050);
    await manager.sync({}, call);
    assert.ok(sizes.length > 1, `${sizes}`);
    const sent = rig.cloud.values as { n: number }[];
    assert.deepEqual(sent.map((value) => value.n), Array.from({ length: n }, (_, at) => at + 1));
    assert.deepEqual(await filesIn(rig.folder), []);
    await manager.close();
  }, { clock: new FakeClock() }));

Deno.test("sync() takes other files with tags and datasets of their folders, when they are at rest", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    const folder = join(rig.home, "more");
    const longAgo = new Date(clock.now().getTime() - 20_000);
    await put(join(folder, "tag=a/dataset=d1/x.bin"), new Uint8Array(70_000).fill(7), longAgo);
    await put(join(folder, "fresh.txt"), "fresh", clock.now());
    const manager = await rig.start({ additional_sync_paths: [folder], tags: ["all"] });
    await manager.sync({}, call);
    const [upload, ...others] = rig.cloud.uploads;
    assert.deepEqual(others, []);
    assert.deepEqual([upload!.kind, upload!.pieces, upload!.bytes.length], ["file", 2, 70_000]);
    const { metadata } = upload!;
    assert.deepEqual([metadata.tags, metadata.datasetIds], [["all", "a"], ["d1"]]);
    assert.equal(metadata.fileName, join(folder, "tag=a/dataset=d1/x.bin"));
    assert.equal(metadata.fileExtension, ".bin");
    assert.deepEqual(await filesIn(folder), ["fresh.txt"]);
    await manager.close();
  }, { clock: new FakeClock() }));

Deno.test("sync() keeps a file that was written on during its upload", () =>
  withRig(async (rig) => {
    const path = join(rig.folder, "notes.txt");
    await put(path, "one", new Date("2020-01-01"));
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.cloud.hold = promise;
    rig.cloud.refuse = () => Deno.writeTextFileSync(path, "one two");
    const manager = await rig.start({ sync_disabled: true });
    const syncing = manager.sync({}, call);
    resolve();
    await syncing;
    assert.equal(await Deno.readTextFile(path), "one two");
    await manager.close();
  }));

Deno.test("sync() moves a file to failed, with the reason, when the cloud says it is wrong", () =>
  withRig(async (rig) => {
    await capture(rig, 150);
    const [name] = await filesIn(rig.folder);
    await put(join(rig.folder, "x/bad.capture"), "this is no capture file");
    rig.cloud.refuse = () => {
      throw new ConnectError("component_name: too long", Code.InvalidArgument);
    };
    const manager = await rig.start({ sync_disabled: true });
    await assert.rejects(manager.sync({}, call), /2 files were not uploaded/);
    assert.deepEqual(await filesIn(rig.folder), [
      `failed/${name}`,
      `failed/${name}.reason.txt`,
      "failed/x/bad.capture",
      "failed/x/bad.capture.reason.txt",
    ]);
    const reason = await Deno.readTextFile(join(rig.folder, `failed/${name}.reason.txt`));
    assert.match(reason, /component_name: too long/);
    rig.cloud.refuse = () => {};
    await manager.sync({}, call);
    assert.equal(rig.cloud.uploads.length, 0, "what failed is not tried again");
    await manager.close();
  }, { clock: new FakeClock() }));

Deno.test("DataManager waits a minute when the cloud is away, and then uploads", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    await capture(rig, 150);
    let asked = 0;
    rig.cloud.refuse = () => {
      asked++;
      throw new ConnectError("no route", Code.Unavailable);
    };
    const manager = await rig.start();
    await clock.advance(6_000);
    await waitFor(() => asked === 1, { deadlineMs: 60_000 });
    await waitFor(() => (manager.getStatus()["sync"] as { error: string }).error === "no route", {
      deadlineMs: 60_000,
    });
    await clock.advance(54_000);
    assert.equal(asked, 1);
    rig.cloud.refuse = () => {};
    await clock.advance(12_000);
    await waitFor(() => rig.cloud.uploads.length === 1, { deadlineMs: 60_000 });
    await manager.close();
  }, { clock: new FakeClock() }));

Deno.test("DataManager tries one file again with backoff while others go on", () =>
  withRig(async (rig) => {
    await put(join(rig.folder, "bad.txt"), "bad", new Date("2020-01-01"));
    await put(join(rig.folder, "good.txt"), "good", new Date("2020-01-02"));
    let refused = 0;
    rig.cloud.refuse = ({ fileName }) => {
      if (!fileName.endsWith("bad.txt") || refused++ > 0) return;
      throw new ConnectError("quota", Code.ResourceExhausted);
    };
    const manager = await rig.start({ sync_disabled: true });
    await assert.rejects(manager.sync({}, call), { code: Code.Unavailable });
    assert.deepEqual(await filesIn(rig.folder), ["bad.txt"]);
    await manager.sync({}, call);
    assert.deepEqual(await filesIn(rig.folder), []);
    await manager.close();
  }));

Deno.test("DataManager uploads only while the selective sensor says so", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    await capture(rig, 150);
    let answer: unknown = "yes";
    let asked = 0;
    await rig.configure(testSensor("gate", () => {
      asked++;
      return { should_sync: answer as boolean };
    }));
    const manager = await rig.start({ selective_syncer_name: "gate" });
    await clock.advance(12_100);
    await waitFor(() => asked === 2, { deadlineMs: 60_000 });
    assert.equal(rig.cloud.uploads.length, 0);
    answer = true;
    await clock.advance(6_000);
    await waitFor(() => rig.cloud.uploads.length === 1, { deadlineMs: 60_000 });
    await manager.close();
  }, { clock: new FakeClock() }));

Deno.test("DataManager deletes every Nth capture file when the disk is full of them", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    const name = (index: number) => `f${String(index).padStart(2, "0")}.capture`;
    for (let index = 0; index < 11; index++) {
      await put(join(rig.folder, name(index)), new Uint8Array(100));
    }
    const disk = { totalBytes: 2_000, usedBytes: 1_700 };
    const manager = await rig.start({ sync_disabled: true }, {
      diskUse: () => Promise.resolve(disk),
    });
    await clock.advance(30_000);
    assert.equal((await filesIn(rig.folder)).length, 11);
    disk.usedBytes = 1_900;
    await clock.advance(30_000);
    await waitFor(async () => (await filesIn(rig.folder)).length === 8, { deadlineMs: 60_000 });
    const left = await filesIn(rig.folder);
    assert.deepEqual([0, 5, 10].filter((index) => left.includes(name(index))), []);
    await clock.advance(30_000);
    assert.equal((await filesIn(rig.folder)).length, 8, "800 of 2000 bytes are below a half");
    await manager.close();
  }, { clock: new FakeClock() }));

Deno.test("sync() uploads what lies in the folder of a method that is captured no more", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    let n = 0;
    const sensor = (more: JsonObject) =>
      testSensor("s", () => ({ n: ++n }), {
        ...{ method: "Readings", capture_frequency_hz: 10, capture_directory: "own" },
        ...more,
      });
    await rig.configure(sensor({}));
    const manager = await rig.start({ sync_disabled: true });
    await clock.advance(150);
    await rig.configure(sensor({ disabled: true }));
    await manager.sync({}, call);
    assert.deepEqual(rig.cloud.values, [{ n: 1 }]);
    await rig.configure(sensor({}));
    await clock.advance(150);
    await rig.configure();
    await manager.sync({}, call);
    assert.deepEqual(rig.cloud.values, [{ n: 1 }, { n: 2 }]);
    await rig.configure(sensor({}));
    await clock.advance(150);
    await manager.close();
    const other = await rig.start({ sync_disabled: true, capture_disabled: true });
    await other.sync({}, call);
    assert.deepEqual(rig.cloud.values, [{ n: 1 }, { n: 2 }, { n: 3 }]);
    await other.close();
  }, { clock: new FakeClock() }));

Deno.test("sync() joins the pass that waits when it is called again and again", () =>
  withRig(async (rig) => {
    await put(join(rig.folder, "a.txt"), "a", new Date("2020-01-01"));
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.cloud.hold = promise;
    const manager = await rig.start({ sync_disabled: true });
    const first = manager.sync({}, call);
    await waitFor(() => rig.cloud.asked === 1, { deadlineMs: 60_000 });
    await put(join(rig.folder, "b.txt"), "b", new Date("2020-01-02"));
    const others = [1, 2, 3].map(() => manager.sync({}, call));
    resolve();
    await Promise.all([first, ...others]);
    assert.equal(rig.cloud.uploads.length, 2);
    assert.deepEqual(await filesIn(rig.folder), []);
    await manager.close();
  }));

Deno.test("sync() sends nothing again when only the removal was left", () =>
  withRig(async (rig) => {
    const path = join(rig.folder, "a.txt");
    await put(path, "a", new Date("2020-01-01"));
    const manager = await rig.start({ sync_disabled: true });
    await manager.sync({}, call);
    // As after a kill between the record and the removal.
    await put(path, "a", new Date("2020-01-01"));
    await manager.sync({}, call);
    assert.equal(rig.cloud.uploads.length, 1);
    assert.deepEqual(await filesIn(rig.folder), []);
    await put(path, "b2", new Date("2020-01-01"));
    await manager.sync({}, call);
    assert.equal(rig.cloud.uploads.length, 2, "another content is another file");
    await manager.close();
  }));

Deno.test("sync() warns once when many files wait for the same reason", () =>
  withRig(async (rig) => {
    for (const name of ["a", "b", "c"]) {
      await put(join(rig.folder, `${name}.txt`), name, new Date("2020-01-01"));
    }
    rig.cloud.refuse = () => {
      throw new ConnectError("the quota is used up", Code.ResourceExhausted);
    };
    const manager = await rig.start({ sync_disabled: true });
    await assert.rejects(manager.sync({}, call), /3 files were not uploaded/);
    const warnings = rig.log.entries.filter(({ level }) => level === "warn");
    assert.deepEqual(warnings.map(({ message }) => message), [
      "the upload of a file failed and is tried again: the quota is used up",
    ]);
    rig.cloud.refuse = () => {
      throw new ConnectError("who are you?", Code.Unauthenticated);
    };
    rig.cloud.asked = 0;
    await assert.rejects(manager.sync({}, call), /who are you/);
    assert.ok(rig.cloud.asked <= 2, "those on their way, and no more");
    await manager.close();
  }));
