import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { decodeCapture } from "../../shared/capture_file/decode.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import type { Resource } from "../resources/graph/resource.ts";
import { dataManagerAttributes } from "./attributes.ts";
import { dataManagerModel } from "./data_manager_model.ts";
import type { DataManager } from "./data_manager.ts";
import { call, type DataRig, filesIn, testSensor, withRig } from "./testing.ts";

const SENSOR = { method: "Readings", capture_frequency_hz: 10 };

/** A machine with one sensor, under a clock of its own; every attribute is tried alone. */
function attributeTest(name: string, test: (rig: DataRig, clock: FakeClock) => Promise<void>) {
  Deno.test(`data_manager heeds ${name}`, () => {
    const clock = new FakeClock();
    return withRig(async (rig) => {
      let n = 0;
      await rig.configure(testSensor("s", () => ({ n: ++n }), SENSOR));
      await test(rig, clock);
    }, { clock });
  });
}

async function put(path: string, content = "x"): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, content);
}

const tagsOf = (rig: DataRig) => rig.cloud.uploads.map(({ metadata }) => metadata.tags);

attributeTest("capture_dir", async (rig, clock) => {
  const model = dataManagerModel({ clock, home: rig.home, untrusted: false, seat: rig.seat });
  const { attributes } = dataManagerAttributes.parse({ capture_dir: "elsewhere" });
  const construct = model.construct as unknown as (
    asked: { attributes: typeof attributes; log: typeof rig.log },
  ) => Promise<DataManager>;
  const manager = await construct({ attributes, log: rig.log });
  await clock.advance(250);
  await manager.close();
  assert.equal((await filesIn(join(rig.home, "elsewhere"))).length, 1);
  assert.deepEqual(await filesIn(rig.folder), []);
});

Deno.test("a configuration made for another server of the family is taken, with warnings", () => {
  const warnings: string[] = [];
  const { attributes } = dataManagerAttributes.parse({
    capture_dir: "",
    tags: null,
    additional_sync_paths: "",
    selective_syncer_name: "",
    maximum_num_sync_threads: 250,
    maximum_capture_file_size_bytes: 2 ** 30,
    delete_every_nth_when_disk_full: 0,
    disk_usage_deletion_threshold: 1.5,
    file_last_modified_millis: -1,
  }, (message) => warnings.push(message));
  const { capture_dir, tags, additional_sync_paths, selective_syncer_name } = attributes;
  assert.deepEqual(
    [capture_dir, tags, additional_sync_paths, selective_syncer_name],
    [undefined, undefined, undefined, undefined],
  );
  assert.equal(attributes.maximum_num_sync_threads, 100);
  assert.equal(attributes.maximum_capture_file_size_bytes, 16 * 1024 * 1024);
  assert.equal(attributes.delete_every_nth_when_disk_full, undefined);
  assert.equal(attributes.disk_usage_deletion_threshold, 1);
  assert.equal(attributes.file_last_modified_millis, 0);
  assert.equal(warnings.length, 4);
  assert.ok(warnings.includes(
    "attributes.maximum_num_sync_threads: found 250, allowed: a whole number from 1 to 100; " +
      "100 is used",
  ));
  assert.throws(() => dataManagerAttributes.parse({ maximum_num_sync_threads: 2.5 }), /found 2.5/);
});

attributeTest("tags", async (rig, clock) => {
  const manager = await rig.start({ tags: ["a", "b"], sync_disabled: true });
  await clock.advance(150);
  await manager.sync({}, call);
  await manager.close();
  assert.deepEqual(tagsOf(rig)[0], ["a", "b"]);
});

attributeTest("capture_disabled", async (rig, clock) => {
  await put(join(rig.folder, "old.txt"));
  await Deno.utime(join(rig.folder, "old.txt"), new Date(0), new Date(0));
  const manager = await rig.start({ capture_disabled: true });
  await clock.advance(6_050);
  await waitFor(() => rig.cloud.uploads.length === 1, { deadlineMs: 60_000 });
  await manager.close();
  assert.equal(rig.cloud.uploads[0]?.kind, "file", "what is there is uploaded all the same");
  assert.deepEqual(manager.getStatus()["capture"], []);
});

attributeTest("mongo_capture_config, which it says it cannot follow", async (rig) => {
  const manager = await rig.start({ mongo_capture_config: { uri: "mongodb://x" } });
  await manager.close();
  assert.match(rig.log.text(), /mongo_capture_config has no effect/);
});

attributeTest("maximum_capture_file_size_bytes", async (rig, clock) => {
  const manager = await rig.start({ maximum_capture_file_size_bytes: 1, sync_disabled: true });
  await clock.advance(350);
  await manager.close();
  assert.equal((await filesIn(rig.folder)).length, 3);
});

// One row for each attribute of the disk: how many of ten files are left.
const DISKS: readonly [string, JsonObject, number][] = [
  ["the defaults of a full disk", {}, 8],
  ["delete_every_nth_when_disk_full", { delete_every_nth_when_disk_full: 2 }, 5],
  ["disk_usage_deletion_threshold", { disk_usage_deletion_threshold: 0.97 }, 10],
  ["capture_dir_deletion_threshold", { capture_dir_deletion_threshold: 0.6 }, 10],
];
for (const [name, attributes, left] of DISKS) {
  attributeTest(name, async (rig, clock) => {
    await rig.configure();
    for (let n = 0; n < 10; n++) await put(join(rig.folder, `f${n}.capture`), "x".repeat(100));
    let looks = 0;
    const diskUse = () => {
      looks++;
      return Promise.resolve({ totalBytes: 1_900, usedBytes: 1_800 });
    };
    const manager = await rig.start({ sync_disabled: true, ...attributes }, { diskUse });
    await clock.advance(30_000);
    await waitFor(() => looks === 1, { deadlineMs: 60_000 });
    await manager.close();
    assert.equal((await filesIn(rig.folder)).length, left);
  });
}

attributeTest("additional_sync_paths and file_last_modified_millis", async (rig, clock) => {
  const path = join(rig.home, "more/x.txt");
  await put(path);
  const modified = new Date(clock.now().getTime() - 3_000);
  await Deno.utime(path, modified, modified);
  const attributes = { additional_sync_paths: [dirname(path)], sync_disabled: true };
  const patient = await rig.start({ ...attributes, capture_disabled: true });
  await patient.sync({}, call);
  await patient.close();
  assert.equal(rig.cloud.uploads.length, 0, "10 s by default");
  const manager = await rig.start({ ...attributes, file_last_modified_millis: 2_000 });
  await manager.sync({}, call);
  await manager.close();
  assert.equal(rig.cloud.uploads[0]?.kind, "file");
});

attributeTest("maximum_num_sync_threads", async (rig) => {
  await rig.configure();
  const release = Promise.withResolvers<void>();
  rig.cloud.hold = release.promise;
  for (let n = 0; n < 6; n++) {
    await put(join(rig.folder, `f${n}.txt`));
    await Deno.utime(join(rig.folder, `f${n}.txt`), new Date(0), new Date(0));
  }
  const manager = await rig.start({ maximum_num_sync_threads: 3, sync_disabled: true });
  const syncing = manager.sync({}, call);
  await waitFor(() => rig.cloud.asked === 3, { deadlineMs: 60_000 });
  assert.equal(rig.cloud.uploads.length, 0);
  release.resolve();
  await syncing;
  await manager.close();
  assert.equal(rig.cloud.uploads.length, 6);
});

// One row for each interval: minutes, and when the first upload is begun.
const INTERVALS: readonly [string, JsonObject, number][] = [
  ["sync_interval_mins", { sync_interval_mins: 0.5 }, 30_000],
  ["sync_interval_mins of 0, which is the default", { sync_interval_mins: 0 }, 6_000],
  ["the default of sync_interval_mins", {}, 6_000],
];
for (const [name, attributes, firstMs] of INTERVALS) {
  attributeTest(name, async (rig, clock) => {
    const manager = await rig.start(attributes);
    await clock.advance(firstMs - 1);
    assert.equal(rig.cloud.asked, 0);
    await clock.advance(1);
    await waitFor(() => rig.cloud.asked === 1, { deadlineMs: 60_000 });
    await manager.close();
  });
}

attributeTest("sync_disabled", async (rig, clock) => {
  const manager = await rig.start({ sync_disabled: true });
  await clock.advance(60_000);
  await manager.close();
  assert.equal(rig.cloud.asked, 0);
});

attributeTest("capture_directory, name, queue and buffer of a method", async (rig, clock) => {
  await rig.configure(testSensor("s", () => ({ n: 1 }), {
    ...SENSOR,
    name: "rdk:component:sensor/s",
    capture_directory: "own",
    capture_queue_size: 250,
    capture_buffer_size: 4_096,
  }));
  const manager = await rig.start({ sync_disabled: true });
  await clock.advance(150);
  await manager.sync({}, call);
  await clock.advance(100);
  await manager.close();
  assert.equal(rig.cloud.uploads.length, 1);
  assert.equal((await filesIn(join(rig.home, "own"))).length, 1);
  assert.equal(rig.log.entries.filter(({ level }) => level === "warn").length, 0);
});

attributeTest("additional_params of a method that needs them", async (rig, clock) => {
  const asked: unknown[] = [];
  const driver = {
    getImages: (request: { filterSourceNames?: string[]; extra?: unknown }) => {
      asked.push(request.filterSourceNames, request.extra);
      return { images: [{ image: new Uint8Array([1]), mimeType: "image/png" }] };
    },
  } as Resource;
  await rig.configure({
    api: "rdk:component:camera",
    name: "c",
    driver,
    capture: [{
      method: "GetImages",
      capture_frequency_hz: 10,
      additional_params: { filter_source_names: ["front"], mime_type: "image/png" },
    }],
  });
  const manager = await rig.start({ sync_disabled: true });
  await clock.advance(150);
  await manager.close();
  assert.deepEqual(asked, [["front"], { fromDataManagement: true }]);
  const [file] = await filesIn(rig.folder);
  const { metadata } = decodeCapture(await Deno.readFile(join(rig.folder, file ?? "")));
  assert.deepEqual(Object.keys(metadata?.methodParameters ?? {}).sort(), [
    "filter_source_names",
    "mime_type",
  ]);
});
