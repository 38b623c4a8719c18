/** Modules in plain TypeScript: the whole way of a resource through real processes. */
import { createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import type { ResourceSnapshot } from "../../server/resources/graph/node.ts";
import { CameraService } from "../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { GAUGE_API, gaugeOf } from "./gauge.ts";
import {
  gaugeSpec,
  type Machine,
  plainModule,
  readerSpec,
  readings,
  SENSOR_API,
  sourceSpec,
  statusOf,
  until,
  withMachine,
} from "./machine.ts";

const CAMERA_API = "rdk:component:camera";

async function startPlain(machine: Machine, fields = {}): Promise<void> {
  const applied = machine.modules.apply([await plainModule(machine.folder, "plain", fields)]);
  await machine.resources.apply([sourceSpec, readerSpec("r"), gaugeSpec("g")], "1");
  await applied;
  assert.equal(statusOf(machine, "plain").state, "ready");
}

for (const tcpMode of [false, true]) {
  Deno.test(`ModuleManager serves sensors and an API of the module when ${tcpMode ? "TCP is" : "unix sockets are"} used`, async () => {
    await withMachine(async (machine) => {
      await startPlain(machine, { tcpMode });
      assert.deepEqual(await readings(machine, "r"), { a: 1, b: 2, asked: 1 });
      const gauge = gaugeOf(machine.transport);
      assert.deepEqual(
        { ...await gauge.read({ name: "g", unit: "bar" }), $typeName: undefined },
        { $typeName: undefined, value: 21.5, note: "bar" },
      );
      const values: number[] = [];
      for await (const { value } of gauge.watch({ name: "g", count: 3 })) values.push(value);
      assert.deepEqual(values, [1, 2, 3]);
      assert.deepEqual(machine.modules.models(), [
        { module: "plain", api: SENSOR_API, model: "acme:plain:reader", isLocal: true },
        { module: "plain", api: GAUGE_API, model: "acme:plain:gauge", isLocal: true },
        { module: "plain", api: CAMERA_API, model: "acme:plain:camera", isLocal: true },
        { module: "plain", api: "rdk:service:vision", model: "acme:plain:eyes", isLocal: true },
      ]);
    });
  });
}

Deno.test("a camera of a module whose device is gone is unhealthy with the module's words", async () => {
  await withMachine(async (machine) => {
    await startPlain(machine);
    const attributes = { unplugged: true };
    const spec = { name: "cam", api: CAMERA_API, model: "acme:plain:camera", attributes };
    await machine.resources.apply([{ ...spec, dependsOn: [] }], "2");
    const camera = createClient(CameraService, machine.transport);
    for (let time = 0; time < 3; time++) {
      await assert.rejects(camera.getImages({ name: "cam" }), /\/dev\/video0 is gone/);
    }
    const [{ state, error }] = machine.resources.snapshot() as [ResourceSnapshot];
    assert.equal(state, "unhealthy");
    assert.match(error, /^GetImages fails each time: \/dev\/video0 is gone\. Look at the camera/);
  });
});

Deno.test("ModuleManager serves again after a module crashed", async () => {
  await withMachine(async (machine) => {
    await startPlain(machine);
    await assert.rejects(machine.sensor.doCommand({ name: "r", command: { crash: true } }));
    await until("the module is unhealthy", () => statusOf(machine, "plain").state === "unhealthy");
    assert.match(
      statusOf(machine, "plain").error,
      /module plain is not running: it exited with code 70/,
    );
    assert.equal(statusOf(machine, "plain").consecutiveFailures, 1);
    await assert.rejects(readings(machine, "r"));
    await until("it serves again", async () => (await readings(machine, "r"))["asked"] === 1);
  });
});
