/** A module on the published Python SDK runs unchanged. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { WantedModule } from "../../server/modules/manager/wanted_module.ts";
import { ensurePythonSdk } from "../e2e/python_sdk.ts";
import { gaugeOf } from "./gauge.ts";
import {
  gaugeSpec,
  type Machine,
  readerSpec,
  readings,
  scriptModule,
  sourceSpec,
  statusOf,
  until,
  withMachine,
} from "./machine.ts";

const MAIN = fileURLToPath(new URL("python_sdk/main.py", import.meta.url));

async function pythonModule(folder: string, fields: Partial<WantedModule>): Promise<WantedModule> {
  const python = await ensurePythonSdk();
  const env = { PYTHONDONTWRITEBYTECODE: "1", ...fields.env };
  // On debug the SDK logs each call from a second thread, over the connection that its first one
  // uses. The server bears what comes of that, but the SDK itself may lose a call.
  const all = { logLevel: "info", ...fields, env };
  return await scriptModule(folder, "py", `exec '${python}' '${MAIN}' "$@"`, all);
}

async function start(machine: Machine, fields: Partial<WantedModule> = {}): Promise<void> {
  const applied = machine.modules.apply([await pythonModule(machine.folder, fields)]);
  const specs = [readerSpec("r", "acme:python:reader"), gaugeSpec("g", "acme:python:gauge")];
  await machine.resources.apply([sourceSpec, ...specs], "1");
  await applied;
  assert.equal(statusOf(machine, "py").state, "ready");
}

for (const tcpMode of [false, true]) {
  const over = tcpMode ? "TCP" : "unix sockets";
  Deno.test(`ModuleManager runs a module of the Python SDK when it speaks over ${over}`, async () => {
    await withMachine(async (machine) => {
      await start(machine, { tcpMode });
      assert.deepEqual(await readings(machine, "r"), { a: 1, b: 2, asked: 1 });
      const gauge = gaugeOf(machine.transport);
      const { value, note } = await gauge.read({ name: "g", unit: "bar" });
      assert.deepEqual([value, note], [21.5, "bar"]);
      const values: number[] = [];
      for await (const { value } of gauge.watch({ name: "g", count: 3 })) values.push(value);
      assert.deepEqual(values, [1, 2, 3]);
      const said = "the needle sticks";
      await machine.sensor.doCommand({ name: "r", command: { log: said } });
      await until("the line", () => machine.log.messages("warn").some((m) => m.includes(said)));
      const line = machine.log.entries.find(({ message }) => message.includes(said));
      assert.match(line?.logger ?? "", /^rdk\.modmanager\.py\b/);
    });
  });
}

Deno.test("ModuleManager brings a module of the Python SDK back when it crashes or starts slowly", async () => {
  await withMachine(async (machine) => {
    await start(machine, { env: { PYTHON_START_DELAY_MS: "700" } });
    await assert.rejects(machine.sensor.doCommand({ name: "r", command: { crash: true } }));
    await until("it is unhealthy", () => statusOf(machine, "py").state === "unhealthy");
    await until("it serves again", async () => (await readings(machine, "r"))["asked"] === 1);
  });
});
