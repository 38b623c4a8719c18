/** The tables of the spec on triggers (§2.1, §4.1, §6, §7), a test a row, against real receivers. */
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  DataSyncService,
  DataType,
} from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { FakeReceiver } from "../delivery/fake_receiver.ts";
import { failure, partSecret } from "../../serve/cloud_testing.ts";
import {
  come,
  dataEvent,
  evals,
  go,
  trigger,
  TriggerRig,
  webhook,
  when,
  withTrigger,
} from "./rig_testing.ts";

// §4.1 methods and headers, §6: one row for each type.
for (const type of ["part_online", "part_offline"]) {
  Deno.test(`a webhook of ${type} is a GET with ids and names in headers and no body`, async () => {
    const clock = new FakeClock();
    await withTrigger(
      (receiver) => trigger({ type }, [webhook(receiver)]),
      async (rig, receiver) => {
        await come(rig);
        if (type === "part_offline") await go(rig, clock);
        const [request] = await receiver.received(1);
        assert.equal(request?.method, "GET");
        assert.equal(request.body, "");
        const { headers } = request;
        assert.equal(headers.get("org-id"), rig.made.org_id);
        assert.equal(headers.get("organization-name"), "Acme");
        assert.equal(headers.get("location-id"), rig.made.location_id);
        assert.equal(headers.get("location-name"), "Lab");
        assert.equal(headers.get("part-id"), rig.partId);
        assert.equal(headers.get("part-name"), "demo-main");
        assert.equal(headers.get("machine-name"), "demo");
        assert.equal(headers.get("robot-id"), rig.made.machine_id);
        assert.equal(headers.get("content-type"), null);
        assert.match(headers.get("webhook-id") ?? "", /^msg_[0-9a-f]{32}$/);
        assert.equal(receiver.requests.length, 1, "one transition, one request");
      },
      clock,
    );
  });
}

const capturedAt = new Date("2026-01-01T10:00:00.250Z");

Deno.test("a webhook of part_data_ingested is a POST with the keys of the spec", () =>
  withTrigger(
    (receiver) => trigger(dataEvent("tabular"), [webhook(receiver)]),
    async (rig, receiver) => {
      const readings = [{ readings: { cpu: 1 } }, { readings: { cpu: 2, ok: true } }];
      const fileId = await rig.sync({ readings, capturedAt });
      const [request] = await receiver.received(1);
      assert.equal(request?.method, "POST");
      assert.equal(request.headers.get("content-type"), "application/json");
      assert.deepEqual(JSON.parse(request.body), {
        component_name: "host",
        component_type: "rdk:component:sensor",
        method_name: "Readings",
        machine_name: "demo",
        location_name: "Lab",
        org_name: "Acme",
        data_type: "tabular",
        min_time_received: "2026-01-01T10:00:00.250Z",
        max_time_received: "2026-01-01T10:00:01.250Z",
        file_id: fileId,
        data: {
          metadata: {
            received_at: "2026-01-01T10:00:01.250Z",
            requested_at: "2026-01-01T10:00:01.250Z",
          },
          data: { readings: { cpu: 2, ok: true } },
        },
      });
      const { headers } = request;
      assert.equal(headers.get("org-id"), rig.made.org_id);
      assert.equal(headers.get("location-id"), rig.made.location_id);
      assert.equal(headers.get("part-id"), rig.partId);
      assert.equal(headers.get("part-name"), "demo-main");
      assert.equal(headers.get("robot-id"), rig.made.machine_id);
      for (const name of ["organization-name", "location-name", "machine-name"]) {
        assert.equal(headers.get(name), null, name);
      }
    },
  ));

Deno.test("a webhook of conditional_data_ingested is a POST with the reading that fulfils it", () =>
  withTrigger(
    (receiver) => trigger(when(evals("gt", { cpu: 40 })), [webhook(receiver)]),
    async (rig, receiver) => {
      const readings = [{ readings: { cpu: 1 } }, { readings: { cpu: 41 } }, {
        readings: { cpu: 99 },
      }];
      await rig.sync({ readings, capturedAt });
      const [request] = await receiver.received(1);
      assert.equal(request?.method, "POST");
      assert.deepEqual(JSON.parse(request.body), {
        component_name: "host",
        component_type: "rdk:component:sensor",
        method_name: "Readings",
        machine_name: "demo",
        location_name: "Lab",
        org_name: "Acme",
        data_type: "tabular",
        trigger_condition: { evals: [{ operator: "gt", value: { cpu: 40 } }] },
        data: {
          metadata: {
            received_at: "2026-01-01T10:00:01.250Z",
            requested_at: "2026-01-01T10:00:01.250Z",
          },
          data: { readings: { cpu: 41 } },
        },
      });
    },
  ));

// §2.1: kinds of data.
for (const kind of ["binary", "tabular", "file", "unspecified"]) {
  Deno.test(`part_data_ingested fires for ${kind} and not for the other kinds`, () =>
    withTrigger(
      (receiver) => trigger(dataEvent(kind), [webhook(receiver)]),
      async (rig, receiver) => {
        await syncEveryKind(rig);
        const [request] = await receiver.received(1);
        assert.equal(JSON.parse(request?.body ?? "{}").data_type, kind);
        const hasReadings = kind === "tabular" || kind === "unspecified";
        assert.equal("data" in JSON.parse(request?.body ?? "{}"), hasReadings);
        assert.deepEqual(await counts(rig), { syncs: 1n, fired: 1n });
      },
    ));
}

Deno.test("part_data_ingested fires for several kinds of data", () =>
  withTrigger(
    (receiver) => trigger(dataEvent("binary", "file"), [webhook(receiver)]),
    async (rig, receiver) => {
      await syncEveryKind(rig);
      const types = (await receiver.received(2)).map(({ body }) => JSON.parse(body).data_type);
      assert.deepEqual(types.sort(), ["binary", "file"]);
    },
  ));

async function syncEveryKind(rig: TriggerRig): Promise<void> {
  await rig.sync();
  await rig.sync({ type: DataType.BINARY_SENSOR, binary: new Uint8Array([1]), component: "cam" });
  await rig.sync({ type: DataType.UNSPECIFIED, readings: [{ a: 1 }], component: "other" });
  const client = rig.cloud.client(DataSyncService, partSecret(rig.made));
  await client.fileUpload(async function* () {
    const metadata = { partId: rig.partId, type: DataType.FILE, fileName: "notes.txt" };
    yield { uploadPacket: { case: "metadata" as const, value: metadata } };
    yield { uploadPacket: { case: "fileContents" as const, value: { data: new Uint8Array([1]) } } };
  }());
}

async function counts(rig: TriggerRig): Promise<{ syncs: bigint; fired: bigint }> {
  const { triggers: [listed] } = await rig.calls.listTriggers({ partId: rig.partId });
  return { syncs: listed?.counts?.syncs ?? -1n, fired: listed?.counts?.fired ?? -1n };
}

// §2.1: operators, against data that machines sync. condition_test.ts has every combination.
const HOLDING: readonly [operator: string, value: unknown][] = [
  ["lt", { cpu: 51 }],
  ["gt", { cpu: 49 }],
  ["lte", { cpu: 50 }],
  ["gte", { cpu: 50 }],
  ["eq", { cpu: 50 }],
  ["neq", { cpu: 51 }],
  ["regex", { state: "^run" }],
  ["lt", { coordinate: { latitude: 50 } }],
  ["lt", { "coordinate.latitude": 50 }],
  ["eq", { on: true }],
  ["eq", { state: "running" }],
];
for (const [operator, value] of HOLDING) {
  Deno.test(`conditional_data_ingested fires when ${operator} ${JSON.stringify(value)} holds`, () =>
    withTrigger(
      (receiver) => trigger(when(evals(operator, value)), [webhook(receiver)]),
      async (rig, receiver) => {
        const held = { cpu: 50, state: "running", on: true, coordinate: { latitude: 47 } };
        const not = {
          cpu: operator === "neq" ? 51 : operator.startsWith("l") ? 90 : 10,
          state: "idle",
          on: false,
          coordinate: { latitude: 60 },
        };
        await rig.sync({ readings: [{ readings: not }] });
        assert.deepEqual(await counts(rig), { syncs: 1n, fired: 0n });
        await rig.sync({ readings: [{ readings: held }] });
        await receiver.received(1);
        assert.deepEqual(await counts(rig), { syncs: 2n, fired: 1n });
      },
    ));
}

Deno.test("conditional_data_ingested compares a plain value with the only one of a reading", () =>
  withTrigger(
    (receiver) => trigger(when(evals("regex", "^4")), [webhook(receiver)]),
    async (rig, receiver) => {
      await rig.sync({ readings: [{ readings: { cpu: 42 } }] });
      await receiver.received(1);
    },
  ));

for (
  const conditional of [{}, { conditions: {} }, { conditions: { evals: [] } }, { condition: {} }]
) {
  Deno.test(`conditional_data_ingested fires on every sync when it has ${JSON.stringify(conditional)}`, () =>
    withTrigger(
      (receiver) => trigger(when(conditional), [webhook(receiver)]),
      async (rig, receiver) => {
        await rig.sync();
        await rig.sync({ readings: [{ readings: { other: "x" } }] });
        const [first] = await receiver.received(2);
        const body = JSON.parse(first?.body ?? "{}");
        assert.deepEqual(body.trigger_condition, { evals: [] });
        assert.ok(body.data);
      },
    ));
}

Deno.test("conditional_data_ingested fires only when all evals hold, of conditions and condition", () =>
  withTrigger(
    (receiver) =>
      trigger(
        when({
          conditions: { evals: [{ operator: "gt", value: { cpu: 40 } }] },
          condition: { evals: [{ operator: "lt", value: { cpu: 60 } }] },
        }),
        [webhook(receiver)],
      ),
    async (rig, receiver) => {
      for (const cpu of [39, 61, 50]) await rig.sync({ readings: [{ readings: { cpu } }] });
      const [request] = await receiver.received(1);
      assert.equal(JSON.parse(request?.body ?? "{}").data.data.readings.cpu, 50);
      assert.deepEqual(await counts(rig), { syncs: 3n, fired: 1n });
    },
  ));

Deno.test("conditional_data_ingested looks at its own component and method only", () =>
  withTrigger(
    (receiver) => trigger(when(), [webhook(receiver)]),
    async (rig, receiver) => {
      await rig.sync({ component: "other" });
      await rig.sync({ method: "DoCommand" });
      await rig.sync({ api: "rdk:component:camera" });
      await rig.sync({ api: "acme:component:sensor", readings: [{ readings: { n: 1 } }] });
      await rig.sync({ api: "sensor", readings: [{ readings: { n: 2 } }] });
      const values = (await receiver.received(2)).map(({ body }) =>
        JSON.parse(body).data.data.readings.n
      );
      assert.deepEqual(values.sort(), [1, 2]);
      assert.deepEqual(await counts(rig), { syncs: 2n, fired: 2n });
    },
  ));

Deno.test("what cannot be compared does not fire, is counted and says why", () =>
  withTrigger(
    (receiver) => trigger(when(evals("gt", { cpu: 40 })), [webhook(receiver)]),
    async (rig) => {
      const readings = [{ readings: { cpu: "hot" } }, { readings: {} }, { readings: { cpu: 3 } }];
      await rig.sync({ readings });
      const { triggers: [listed] } = await rig.calls.listTriggers({});
      assert.equal(listed?.counts?.fired, 0n);
      assert.equal(listed.counts.incomparable, 2n);
      assert.equal(listed.counts.lastProblem, "the reading has no cpu");
    },
  ));

// §2.1: the other fields.
Deno.test("a disabled trigger never fires, and one with notes does", async () => {
  await using receiver = FakeReceiver.start();
  const disabled = trigger(when(), [webhook(receiver)], { name: "off", disabled: true });
  const noted = trigger(when(), [webhook(receiver)], { name: "on", notes: "for the night shift" });
  await using rig = await TriggerRig.open([disabled, noted]);
  await rig.sync();
  await receiver.received(1);
  const { triggers } = await rig.calls.listTriggers({});
  assert.deepEqual(triggers.map(({ name, counts }) => [name, counts?.fired]), [
    ["off", 0n],
    ["on", 1n],
  ]);
  assert.equal(triggers[1]?.config?.["notes"], "for the night shift");
});

Deno.test("a change of the configuration counts for the next sync", () =>
  withTrigger(
    (receiver) => trigger(when(evals("gt", { cpu: 90 })), [webhook(receiver)]),
    async (rig, receiver) => {
      await rig.sync();
      await rig.configure([trigger(when(evals("gt", { cpu: 40 })), [webhook(receiver)])]);
      await rig.sync({ readings: [{ readings: { cpu: 55 } }] });
      await receiver.received(1);
      await rig.configure([]);
      await rig.sync({ readings: [{ readings: { cpu: 56 } }] });
      assert.equal((await rig.calls.listDeliveries({ partId: rig.partId })).deliveries.length, 1);
    },
  ));

Deno.test("a trigger that is wrong is not saved, and the answer names path and allowed values", () =>
  withTrigger(
    (receiver) => trigger(when(), [webhook(receiver)]),
    async (rig) => {
      const table: readonly [trigger: JsonObject, problem: RegExp][] = [
        [
          trigger({ type: "part_lost" }, [{ type: "email", value: "a@b" }]),
          /triggers\[0\]\.event\.type: .*part_online.*part_offline.*part_data_ingested/,
        ],
        [
          trigger(dataEvent("video"), [{ type: "email", value: "a@b" }]),
          /data_types\[0\]: .*binary.*tabular.*file.*unspecified/,
        ],
        [
          trigger(when(evals("above", 1)), [{ type: "email", value: "a@b" }]),
          /conditions\.evals\[0\]\.operator: .*lt.*gt.*lte.*gte.*eq.*neq.*regex/,
        ],
        [
          trigger(when({ data_capture_method: "host" }), [{ type: "email", value: "a@b" }]),
          /data_capture_method: .*<component type>:<component name>:<method>/,
        ],
        [
          trigger(when(), [{ type: "webhook", value: "h/x" }]),
          /notifications\[0\]\.value: .*https?:/,
        ],
        [
          trigger(when(), [{ type: "pager", value: "x" }]),
          /notifications\[0\]\.type: .*webhook.*email/,
        ],
      ];
      for (const [wrong, problem] of table) {
        const refused = await failure(rig.configure([wrong]));
        assert.match(refused.message, problem);
      }
    },
  ));
