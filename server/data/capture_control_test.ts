import assert from "node:assert/strict";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { decodeCapture } from "../../shared/capture_file/decode.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import type { ResourceSpec } from "../resources/graph/target.ts";
import { type CaptureControl, controlledSettings, parseCaptureControl } from "./capture_control.ts";
import type { CaptureSettings } from "./capture_settings.ts";
import { type DataRig, filesIn, testSensor, withRig } from "./testing.ts";

const configured = (name: string, method: string, frequencyHz: number): CaptureSettings => ({
  api: "rdk:component:sensor",
  name,
  method,
  frequencyHz,
  parameters: {},
  tags: ["own"],
  hasOnlyTags: false,
  folder: undefined,
});
const spec = (name: string): ResourceSpec => ({
  name,
  api: "rdk:component:sensor",
  model: "m",
  attributes: {},
  dependsOn: [],
  extra: {},
});

/** Names, methods, rates and tags in the end, and what was reported. */
function controlled(value: JsonValue) {
  const told: string[] = [];
  const warn = (message: string) => told.push(message);
  const control = parseCaptureControl(value, "reading k", warn);
  const settings = [configured("a", "GetReadings", 1), configured("b", "Readings", 0)];
  const found = controlledSettings(settings, control, [spec("a"), spec("b"), spec("c")], warn);
  return {
    found: found.filter(({ frequencyHz }) => frequencyHz > 0)
      .map(({ name, method, frequencyHz, tags, hasOnlyTags }) =>
        `${name} ${method} ${frequencyHz} ${hasOnlyTags ? "only " : ""}${tags.join()}`
      ),
    told,
  };
}

const UNCHANGED = ["a GetReadings 1 own"];
// One row for each thing that a reading may request.
const CONTROLS: readonly { what: string; value: JsonValue; found: string[]; told?: RegExp }[] = [
  { what: "true: as configured", value: true, found: UNCHANGED },
  { what: "false: nothing", value: false, found: [] },
  { what: "an empty list: as configured", value: [], found: UNCHANGED },
  {
    what: "another rate",
    value: [{ resource_name: "a", method: "Readings", capture_frequency_hz: 20 }],
    found: ["a GetReadings 20 own"],
  },
  {
    what: "a rate of 0, which switches off",
    value: [{ resource_name: "a", method: "Readings", capture_frequency_hz: 0 }],
    found: [],
  },
  {
    what: "tags in place of all others, and the rate as configured",
    value: [{
      resource_name: "a",
      method: "Readings",
      capture_frequency_hz: null,
      tags: ["event"],
    }],
    found: ["a GetReadings 1 only event"],
  },
  {
    what: "a method that is switched off in the configuration",
    value: [{ resource_name: "b", method: "Readings", capture_frequency_hz: 5 }],
    found: [...UNCHANGED, "b Readings 5 own"],
  },
  {
    what: "a resource that is not configured for capture",
    value: [{ resource_name: "c", method: "Readings", capture_frequency_hz: 5, tags: ["t"] }],
    found: [...UNCHANGED, "c Readings 5 only t"],
  },
  {
    what: "the full name of a resource",
    value: [{
      resource_name: "rdk:component:sensor/a",
      method: "GetReadings",
      capture_frequency_hz: 2,
    }],
    found: ["a GetReadings 2 own"],
  },
  {
    what: "a resource that is not configured, without a rate",
    value: [{ resource_name: "c", method: "Readings" }],
    found: UNCHANGED,
    told: /does not report how often Readings of c/,
  },
  {
    what: "a resource that is not there",
    value: [{ resource_name: "x", method: "Readings", capture_frequency_hz: 5 }],
    found: UNCHANGED,
    told: /wants Readings of x captured, and there is no such resource/,
  },
  {
    what: "a rate that cannot be, beside a good entry",
    value: [
      { resource_name: "a", method: "Readings", capture_frequency_hz: 2_000 },
      { resource_name: "b", method: "Readings", capture_frequency_hz: 2 },
    ],
    found: [...UNCHANGED, "b Readings 2 own"],
    told: /reading k\[0\]\.capture_frequency_hz: found 2000, allowed: .*1000.*; the override is/,
  },
  {
    what: "an entry without a method",
    value: [{ resource_name: "a" }],
    found: UNCHANGED,
    told: /reading k\[0\]\.method: found nothing/,
  },
];
for (const { what, value, found, told } of CONTROLS) {
  Deno.test(`controlledSettings() follows ${what}`, () => {
    const result = controlled(value);
    assert.deepEqual(result.found, found);
    if (told) assert.match(result.told.join("\n"), told);
    else assert.deepEqual(result.told, []);
  });
}

Deno.test("parseCaptureControl() throws when the reading is something else", () => {
  for (const value of [undefined, "on", 1, { resource_name: "a" }]) {
    assert.throws(
      (): CaptureControl => parseCaptureControl(value, "reading k of s", () => {}),
      /^Error: reading k of s: found .*, allowed: true, false, or a list of overrides$/,
    );
  }
});

async function counts(rig: DataRig): Promise<Record<string, { n: number; tags: string[] }>> {
  const found: Record<string, { n: number; tags: string[] }> = {};
  for (const file of await filesIn(rig.folder)) {
    const { metadata, readings } = decodeCapture(await Deno.readFile(join(rig.folder, file)));
    const { componentName = "", tags = [] } = metadata ?? {};
    const n = (found[componentName]?.n ?? 0) + readings.length;
    found[componentName] = { n, tags: [...tags] };
  }
  return found;
}

Deno.test("DataManager captures what the control sensor asks for, and else what is configured", () =>
  withRig(async (rig) => {
    const clock = rig.clock as FakeClock;
    let control: () => JsonObject = () => ({ overrides: [] });
    await rig.configure(
      testSensor("control", () => control()),
      testSensor("s", () => ({ a: 1 }), { method: "Readings", capture_frequency_hz: 1 }),
      testSensor("other", () => ({ b: 1 })),
    );
    const running = () =>
      (manager.getStatus()["capture"] as { name: string }[]).map(({ name }) => name).sort();
    const manager = await rig.start({
      tags: ["all"],
      capture_control_sensor: { name: "control", key: "overrides" },
    });
    await clock.advance(1_050);
    assert.deepEqual(running(), ["s"]);
    control = () => ({
      overrides: [
        { resource_name: "s", method: "Readings", capture_frequency_hz: 0 },
        { resource_name: "other", method: "Readings", capture_frequency_hz: 10, tags: ["event"] },
      ],
    });
    await clock.advance(1_100);
    assert.deepEqual(running(), ["other"]);
    control = () => {
      throw new Error("wire is loose");
    };
    await clock.advance(1_000);
    assert.deepEqual(running(), ["s"], "as configured, while the sensor fails");
    assert.match(rig.log.text(), /wire is loose/);
    await manager.close();
    const found = await counts(rig);
    assert.deepEqual(found["s"]?.tags, ["all"]);
    assert.deepEqual(found["other"]?.tags, ["event"]);
    assert.ok((found["other"]?.n ?? 0) >= 9, `${found["other"]?.n}`);
  }, { clock: new FakeClock() }));
