import assert from "node:assert/strict";
import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { DataCaptureMetadataSchema, DataType } from "../gen/viam/app/datasync/v1/data_sync_pb.ts";
import { noSmallDisks, withSmallDisk } from "../test_tools/small_disk.ts";
import { CaptureWriter } from "./capture_writer.ts";
import { decodeCapture } from "./decode.ts";
import { encodeMetadata, ReadingEncoder } from "./encode.ts";
import { repairCapture } from "./repair.ts";

const metadata = create(DataCaptureMetadataSchema, {
  componentType: "rdk:component:sensor",
  componentName: "s",
  methodName: "Readings",
  type: DataType.TABULAR_SENSOR,
  tags: ["a"],
});
const AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

function encoded(...data: (JsonObject | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const encoder = new ReadingEncoder(8);
  for (const one of data) encoder.add({ requestedMs: AT_MS, receivedMs: AT_MS + 1.25, data: one });
  return encoder.take().slice();
}

function fileOf(...data: (JsonObject | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const head = encodeMetadata(metadata);
  const body = encoded(...data);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "capture-file-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function names(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
}

Deno.test("decodeCapture() gives back what ReadingEncoder wrote", () => {
  const readings: JsonObject[] = [
    { readings: { a: 1, b: -2.5, text: "é€😀", yes: true, no: false, nothing: null } },
    { list: [1, "two", [3], { four: 4 }, {}, []], deep: { er: { still: "x".repeat(200) } } },
    { long: "y".repeat(70_000), "": "" },
    {},
  ];
  const { metadata: head, readings: found, isTorn } = decodeCapture(fileOf(...readings));
  assert.deepEqual(head, metadata);
  assert.equal(isTorn, false);
  assert.deepEqual(found.map(({ data }) => data.value), readings);
  const times = found[0]!.metadata!;
  assert.equal(timestampDate(times.timeRequested!).getTime(), AT_MS);
  assert.equal(times.timeReceived!.nanos, 679_250_000);
});

Deno.test("decodeCapture() gives bytes back when a reading is binary", () => {
  const bytes = new Uint8Array(3_000).map((_, index) => index % 251);
  const [reading] = decodeCapture(fileOf(bytes)).readings;
  assert.deepEqual(reading!.data, { case: "binary", value: bytes });
});

Deno.test("add() writes null when a number is none that JSON knows", () => {
  const odd = { nan: NaN, endless: Infinity, gone: undefined } as unknown as JsonObject;
  const [reading] = decodeCapture(fileOf(odd)).readings;
  assert.deepEqual(reading!.data.value, { nan: null, endless: null, gone: null });
});

Deno.test("decodeCapture() keeps every whole reading when cut at any byte", () => {
  const data = [1, 2, 3].map((value) => ({ readings: { value, text: "z".repeat(value * 60) } }));
  const whole = fileOf(...data);
  const ends = [0, 1, 2, 3].map((count) => fileOf(...data.slice(0, count)).length);
  for (let length = 0; length <= whole.length; length++) {
    const found = decodeCapture(whole.subarray(0, length));
    const complete = ends.filter((end) => end <= length).length - 1;
    assert.equal(found.readings.length, Math.max(complete, 0), `cut at ${length}`);
    assert.equal(found.metadata !== undefined, complete >= 0);
    assert.equal(found.wholeBytes, complete < 0 ? 0 : ends[complete]);
    assert.equal(found.isTorn, length > found.wholeBytes);
  }
});

Deno.test("decodeCapture() stops when a power cut left zeros", () => {
  const whole = fileOf({ a: 1 });
  const bytes = new Uint8Array(whole.length + 64);
  bytes.set(whole);
  const found = decodeCapture(bytes);
  assert.deepEqual([found.readings.length, found.wholeBytes, found.isTorn], [
    1,
    whole.length,
    true,
  ]);
});

Deno.test("CaptureWriter.finish() renames a file that reads back", () =>
  withFolder(async (folder) => {
    const writer = CaptureWriter.begin(join(folder, "deep/er/x"), encodeMetadata(metadata));
    writer.append(encoded({ a: 1 }));
    const syncing = writer.sync();
    writer.append(encoded({ a: 2 }));
    await syncing;
    assert.deepEqual(await names(join(folder, "deep/er")), ["x.prog"]);
    await writer.finish();
    assert.deepEqual(await names(join(folder, "deep/er")), ["x.capture"]);
    const bytes = await Deno.readFile(join(folder, "deep/er/x.capture"));
    assert.equal(bytes.length, writer.bytes);
    assert.equal(decodeCapture(bytes).readings.length, 2);
    if (Deno.build.os !== "windows") {
      assert.equal((await Deno.stat(join(folder, "deep/er/x.capture"))).mode! & 0o777, 0o600);
      assert.equal((await Deno.stat(join(folder, "deep"))).mode! & 0o777, 0o700);
    }
  }));

Deno.test("CaptureWriter.begin() throws when the file is there", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(join(folder, "x.prog"), "other");
    assert.throws(
      () => CaptureWriter.begin(join(folder, "x"), encodeMetadata(metadata)),
      { name: "FileError", code: "EEXIST" },
    );
    assert.equal(await Deno.readTextFile(join(folder, "x.prog")), "other");
  }));

Deno.test("repairCapture() cuts off what is torn, at every byte", () =>
  withFolder(async (folder) => {
    const whole = fileOf({ a: 1 }, { a: 2 });
    const first = fileOf({ a: 1 }).length;
    const path = join(folder, "x.prog");
    for (let length = 0; length <= whole.length; length++) {
      await Deno.writeFile(path, whole.subarray(0, length));
      const { outcome, readings, tornBytes } = await repairCapture(path);
      const expected = length < first ? 0 : length < whole.length ? 1 : 2;
      assert.equal(readings, expected, `cut at ${length}`);
      assert.equal(outcome, expected === 0 ? "removed" : "completed");
      assert.deepEqual(await names(folder), expected === 0 ? [] : ["x.capture"]);
      if (expected === 0) continue;
      const bytes = await Deno.readFile(join(folder, "x.capture"));
      assert.equal(bytes.length, length - tornBytes);
      assert.equal(decodeCapture(bytes).isTorn, false);
      await Deno.remove(join(folder, "x.capture"));
    }
  }));

Deno.test({
  name: "CaptureWriter.append() leaves the file as it was when the disk is full",
  ignore: noSmallDisks(import.meta.url),
  fn: () =>
    withFolder((folder) =>
      withSmallDisk(folder, 64, async () => {
        const writer = CaptureWriter.begin(join(folder, "x"), encodeMetadata(metadata));
        const reading = encoded({ text: "x".repeat(5_000) });
        let written = 0;
        assert.throws(() => {
          for (;;) {
            writer.append(reading);
            written++;
          }
        }, { name: "FileError", code: "ENOSPC" });
        assert.ok(written > 5);
        writer.append(encoded({ small: true }));
        await writer.finish();
        const found = decodeCapture(await Deno.readFile(join(folder, "x.capture")));
        assert.deepEqual([found.readings.length, found.isTorn], [written + 1, false]);
      })
    ),
});
