import assert from "node:assert/strict";
import { startMicro } from "../e2e/micro_machine.ts";
import { runPython } from "../e2e/python_sdk.ts";
import { type Rig, rigTest } from "../e2e/rig.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";

interface Tour {
  resources: string[];
  fake: Record<string, unknown>;
  position: number;
  echo?: number;
  version: string;
}

async function onlineMicro(rig: Rig) {
  await rig.startCloud();
  await rig.saveConfig({
    components: [
      { name: "fake", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
      { name: "wheel", api: "rdk:component:motor", model: "rdk:builtin:fake" },
    ],
  });
  const micro = await startMicro(rig);
  await micro.waitForLine("applied revision");
  return micro;
}

rigTest("the published Python SDK reads a machine-micro-server by native gRPC", async (rig) => {
  using micro = await onlineMicro(rig);
  const { api_key_id: id, api_key: key } = rig.bootstrapped;
  const address = `127.0.0.1:${micro.port}`;
  const { stdout } = await runPython(new URL("micro_tour.py", import.meta.url), [address, id, key]);
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  assert.deepEqual(JSON.parse(last) as Tour, {
    resources: ["fake", "wheel"],
    fake: { a: 1, b: 2, c: 3 },
    position: 2,
    echo: 9000,
    version: "0.1.0",
  });
});

rigTest("the published TypeScript SDK reads a machine-micro-server by gRPC-web", async (rig) => {
  using micro = await onlineMicro(rig);
  const { api_key_id: id, api_key: key } = rig.bootstrapped;
  const tour: Tour = await runTypescriptSdk("micro_tour.mjs", [String(micro.port), id, key]);
  assert.deepEqual(tour, {
    resources: ["fake", "wheel"],
    fake: { a: 1, b: 2, c: 3 },
    position: 2,
    version: "0.1.0",
  });
});
