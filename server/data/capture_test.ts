import assert from "node:assert/strict";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { decodeCapture } from "../../shared/capture_file/decode.ts";
import { DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import type { Resource } from "../resources/graph/resource.ts";
import { filesIn, testSensor, withRig } from "./testing.ts";

const readings = (hz: number) => ({ method: "Readings", capture_frequency_hz: hz });

async function read(path: string) {
  return decodeCapture(await Deno.readFile(path));
}

Deno.test("Captures write readings under the reference's folders and complete them at the end", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    let n = 0;
    await rig.configure(testSensor("s:1", () => ({ n: ++n }), {
      ...readings(10),
      tags: ["fine"],
      additional_params: { depth: 3 },
    }));
    const manager = await rig.start({ tags: ["all"] });
    await clock.advance(350);
    const [growing] = await filesIn(rig.folder);
    assert.match(
      growing!,
      /^rdk_component_sensor\/s_1\/Readings\/2026-01-02T03_04_05\.100000Z\.prog$/,
    );
    await manager.close();
    const files = await filesIn(rig.folder);
    assert.deepEqual(files, [growing!.replace(".prog", ".capture")]);
    const { metadata, readings: found } = await read(join(rig.folder, files[0]!));
    assert.deepEqual(found.map(({ data }) => data.value), [
      { readings: { n: 1 } },
      { readings: { n: 2 } },
      { readings: { n: 3 } },
    ]);
    assert.deepEqual(metadata!.tags, ["all", "fine"]);
    assert.deepEqual(
      [metadata!.componentType, metadata!.componentName, metadata!.methodName, metadata!.type],
      ["rdk:component:sensor", "s:1", "Readings", DataType.TABULAR_SENSOR],
    );
    assert.deepEqual(Object.keys(metadata!.methodParameters), ["depth"]);
  }, { clock: new FakeClock() }));

Deno.test("Captures begin another file when one has its size", () =>
  withRig(async (rig) => {
    await rig.configure(testSensor("s", () => ({ text: "x".repeat(480) }), readings(10)));
    const manager = await rig.start({ maximum_capture_file_size_bytes: 1_000 });
    await (rig.clock as FakeClock).advance(600);
    await manager.close();
    const files = await filesIn(rig.folder);
    const counts = await Promise.all(
      files.map(async (file) => (await read(join(rig.folder, file))).readings.length),
    );
    assert.deepEqual(counts, [2, 2, 2]);
  }, { clock: new FakeClock() }));

Deno.test("Captures skip and count a tick when the one before is still at work", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    await rig.configure(testSensor("slow", async () => {
      await clock.sleep(250);
      return { slow: true };
    }, readings(10)));
    const manager = await rig.start();
    await clock.advance(1_050);
    const [counts] = manager.getStatus()["capture"] as Record<string, unknown>[];
    assert.deepEqual([counts!["captured"], counts!["overlapped"]], [3, 6]);
    await manager.close();
    const [file] = await filesIn(rig.folder);
    const { readings: found } = await read(join(rig.folder, file!));
    // Asked at 100, 400 and 700; what is queried at 1000 has not answered.
    assert.deepEqual(
      found.map(({ metadata }) => metadata!.timeRequested!.nanos / 1e6),
      [100, 400, 700],
    );
  }, { clock: new FakeClock() }));

Deno.test("Captures follow a resource that is built anew, and wait while it is not there", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    await rig.configure(testSensor("s", () => ({ from: "first" }), readings(10)));
    const manager = await rig.start();
    await clock.advance(100);
    const node = rig.resources.index.find("rdk:component:sensor", "s")!;
    const first = node.instance;
    node.instance = undefined;
    await clock.advance(100);
    node.instance = { getReadings: () => ({ from: "second" }) } as Resource;
    await clock.advance(100);
    node.instance = first;
    const status = manager.getStatus()["capture"];
    await manager.close();
    assert.equal((status as { absent: number }[])[0]!.absent, 1);
    const [file] = await filesIn(rig.folder);
    const { readings: found } = await read(join(rig.folder, file!));
    assert.deepEqual(found.map(({ data }) => data.value), [
      { readings: { from: "first" } },
      { readings: { from: "second" } },
    ]);
  }, { clock: new FakeClock() }));

Deno.test("Captures follow the configuration while they run", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    const manager = await rig.start();
    await clock.advance(500);
    assert.deepEqual(await filesIn(rig.folder), []);
    await rig.configure(testSensor("s", () => ({ a: 1 }), readings(10)));
    await clock.advance(100);
    assert.equal((manager.getStatus()["capture"] as unknown[]).length, 1);
    await rig.configure(
      testSensor("s", () => ({ a: 1 }), { ...readings(10), disabled: true }, {
        method: "Readings",
        capture_frequency_hz: 0.000_1,
      }),
    );
    assert.deepEqual(manager.getStatus()["capture"], []);
    assert.match(rig.log.text(), /capture_frequency_hz: found 0.0001, allowed: .* 1000/);
    await rig.configure(
      testSensor("s", () => ({ a: 1 }), { method: "Readings", capture_frequency_hz: 2_000 }),
    );
    assert.equal((manager.getStatus()["capture"] as unknown[]).length, 1);
    assert.match(
      rig.log.text(),
      /capture_frequency_hz: found 2000, allowed: .* 1000; 1000 is used/,
    );
    await manager.close();
    assert.equal((await filesIn(rig.folder)).length, 1);
  }, { clock: new FakeClock() }));

Deno.test("Captures keep each image in a file of its own", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    const image = new Uint8Array([1, 2, 3]);
    const driver = {
      getImages: ({ extra }: { extra: unknown }) => {
        assert.deepEqual(extra, { fromDataManagement: true });
        return {
          images: [{ image, mimeType: "image/jpeg" }, { image, mimeType: "image/png" }],
        };
      },
      getPointCloud: () => ({ mimeType: "pointcloud/pcd", pointCloud: image }),
    } as Resource;
    await rig.configure({
      api: "rdk:component:camera",
      name: "c",
      driver,
      capture: ["GetImages", "NextPointCloud", "ReadImage"].map((method) => ({
        method,
        capture_frequency_hz: 10,
      })),
    });
    const manager = await rig.start();
    await clock.advance(150);
    await manager.close();
    const files = await filesIn(rig.folder);
    const contents = await Promise.all(files.map((file) => read(join(rig.folder, file))));
    assert.deepEqual(
      contents.map(({ metadata }) => [metadata!.methodName, metadata!.fileExtension]),
      [
        ["GetImages", ".jpeg"],
        ["GetImages", ".png"],
        ["NextPointCloud", ".pcd"],
        ["ReadImage", ".jpeg"],
      ],
    );
    for (const { metadata, readings: found } of contents) {
      assert.equal(metadata!.type, DataType.BINARY_SENSOR);
      assert.deepEqual(found.map(({ data }) => data.value), [image]);
    }
  }, { clock: new FakeClock() }));

Deno.test("Captures keep answers of other methods with the names of the protocol", () =>
  withRig(async (rig) => {
    const driver = {
      isPowered: () => ({ isOn: true, powerPct: 0 }),
      doCommand: (command) => ({ got: command }),
    } as Resource;
    await rig.configure({
      api: "rdk:component:motor",
      name: "m",
      driver,
      capture: [
        { method: "IsPowered", capture_frequency_hz: 10 },
        {
          method: "DoCommand",
          capture_frequency_hz: 10,
          additional_params: { docommand_input: { turn: 1 } },
        },
        { method: "Nothing", capture_frequency_hz: 10 },
      ],
    });
    const manager = await rig.start();
    await (rig.clock as FakeClock).advance(150);
    await manager.close();
    const files = await filesIn(rig.folder);
    const contents = await Promise.all(files.map((file) => read(join(rig.folder, file))));
    assert.deepEqual(contents.map(({ readings: [one] }) => one!.data.value), [
      { docommand_output: { got: { turn: 1 } } },
      { is_on: true, power_pct: 0 },
    ]);
    assert.match(rig.log.text(), /has no method Nothing that answers once; it has .*IsPow/);
  }, { clock: new FakeClock() }));

Deno.test("Captures leave out what a filter module does not want, and tell other failures once", () =>
  withRig(async (rig) => {
    let n = 0;
    await rig.configure(testSensor("s", () => {
      n++;
      if (n === 1) {
        throw new ConnectError("no capture from filter module", Code.FailedPrecondition);
      }
      if (n < 5) throw new Error("wire is loose");
      return { n };
    }, readings(10)));
    const manager = await rig.start();
    await (rig.clock as FakeClock).advance(550);
    const [counts] = manager.getStatus()["capture"] as { failed: number; captured: number }[];
    assert.deepEqual([counts!.failed, counts!.captured], [3, 1]);
    await manager.close();
    assert.equal(rig.log.text().split("wire is loose").length - 1, 1);
  }, { clock: new FakeClock() }));

Deno.test("Captures end and begin with the control sensor", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    let on = false;
    let n = 0;
    await rig.configure(
      testSensor("switch", () => ({ on })),
      testSensor("s", () => ({ n: ++n }), readings(10)),
    );
    const manager = await rig.start({ capture_control_sensor: { name: "switch", key: "on" } });
    await clock.advance(200);
    const before = n;
    await clock.advance(1_000);
    assert.equal(n, before);
    on = true;
    await clock.advance(1_000);
    assert.ok(n > before + 7, `${n}`);
    await manager.close();
  }, { clock: new FakeClock() }));

Deno.test("start() completes what a killed server left behind", () =>
  withRig(async (rig) => {
    const folder = join(rig.folder, "rdk_component_sensor/s/Readings");
    await rig.configure(testSensor("s", () => ({ a: 1 }), readings(100)));
    const manager = await rig.start();
    await waitFor(async () => (await filesIn(rig.folder)).length > 0, { deadlineMs: 60_000 });
    await manager.close();
    const [name] = await filesIn(folder);
    const bytes = await Deno.readFile(join(folder, name!));
    await Deno.remove(join(folder, name!));
    await Deno.writeFile(join(folder, "old.prog"), bytes.subarray(0, bytes.length - 1));
    await rig.configure();
    await (await rig.start()).close();
    assert.ok((await filesIn(folder)).every((file) => file === "old.capture"));
  }));
