import assert from "node:assert/strict";
import { type Rig, rigTest } from "../e2e/rig.ts";
import { runPython } from "./python_sdk.ts";

interface Tour {
  cloud: {
    organizations: string[];
    locations: string[];
    machines: string[];
    parts: string[];
    config: unknown;
    saved: unknown;
    logs: string[];
    history: number;
  };
  machine: {
    resources: string[];
    host: Record<string, unknown>;
    fake: Record<string, unknown>;
    version: string;
  };
}

rigTest(
  "the published Python SDK lists, reads, updates, reads logs and reads sensors",
  async (rig) => {
    await rig.startCloud();
    await rig.startServer();
    const { cloud, machine } = await tour(rig);

    assert.deepEqual(cloud.organizations, ["Test"]);
    assert.deepEqual(cloud.locations, ["Lab"]);
    assert.deepEqual(cloud.machines, ["bench"]);
    assert.deepEqual(cloud.parts, ["bench-main"]);
    assert.deepEqual(cloud.config, rig.withFakeReadings({ from_python: 42 }));
    assert.deepEqual(cloud.saved, cloud.config);
    assert.ok(cloud.logs.length > 0);
    assert.ok(cloud.history >= 1);

    assert.ok(machine.resources.includes("host"), machine.resources.join());
    assert.deepEqual(machine.fake, { from_python: 42 });
    assert.ok(Object.keys(machine.host).length >= 5, JSON.stringify(machine.host));
    assert.match(machine.version, /^v?\d+\.\d+\.\d+/);
  },
);

rigTest("the published Python SDK is told UNAUTHENTICATED when the key is wrong", async (rig) => {
  await rig.startCloud();
  await assert.rejects(tour(rig, "wrong"), /UNAUTHENTICATED/);
});

async function tour(rig: Rig, key = rig.bootstrapped.api_key): Promise<Tour> {
  const { stdout } = await runPython(new URL("sdk_tour.py", import.meta.url), [
    `127.0.0.1:${rig.cloudPort}`,
    `127.0.0.1:${rig.serverPort}`,
    rig.bootstrapped.api_key_id,
    key,
  ]);
  return JSON.parse(new TextDecoder().decode(stdout)) as Tour;
}
