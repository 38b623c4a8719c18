import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type Rig, rigTest } from "../e2e/rig.ts";
import { runPython } from "../e2e/python_sdk.ts";

/** What `sdk_tour.py` found. */
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

rigTest("the published Python SDK lists, reads, updates, reads logs and sensors", async (rig) => {
  await rig.startCloud();
  await rig.startServer();
  const { cloud, machine } = await tour(rig, "plain");

  assert.deepEqual(cloud.organizations, ["Test"]);
  assert.deepEqual(cloud.locations, ["Lab"]);
  assert.deepEqual(cloud.machines, ["bench"]);
  assert.deepEqual(cloud.parts, ["bench-main"]);
  assert.deepEqual(cloud.config, rig.withFakeReadings({ from_python: 42 }));
  assert.deepEqual(cloud.saved, cloud.config);
  assert.ok(cloud.logs.length > 0);
  assert.ok(cloud.history >= 1);
  assertMachine(machine);
});

rigTest(
  "the published Python SDK reads sensors over TLS without asking for WebRTC",
  async (rig) => {
    const network = {
      bind_address: `127.0.0.1:${rig.serverPort}`,
      tls_cert_file: fileURLToPath(new URL("testdata/localhost-cert.pem", import.meta.url)),
      tls_key_file: fileURLToPath(new URL("testdata/localhost-key.pem", import.meta.url)),
    };
    await rig.bootstrap({ ...rig.defaultConfig(), network });
    await rig.startCloud();
    await rig.startServer();
    assertMachine((await tour(rig, "tls")).machine);
  },
);

rigTest("the published Python SDK is told UNAUTHENTICATED when the key is wrong", async (rig) => {
  await rig.startCloud();
  await assert.rejects(tour(rig, "plain", "wrong"), /UNAUTHENTICATED/);
});

function assertMachine(machine: Tour["machine"]): void {
  assert.ok(machine.resources.includes("host"), machine.resources.join());
  assert.deepEqual(machine.fake, { from_python: 42 });
  assert.ok(Object.keys(machine.host).length >= 5, JSON.stringify(machine.host));
  assert.match(machine.version, /^v?\d+\.\d+\.\d+/);
}

async function tour(
  rig: Rig,
  dial: "plain" | "tls",
  key = rig.bootstrapped.api_key,
): Promise<Tour> {
  const { stdout } = await runPython(new URL("sdk_tour.py", import.meta.url), [
    `127.0.0.1:${rig.cloudPort}`,
    `127.0.0.1:${rig.serverPort}`,
    ...[rig.bootstrapped.api_key_id, key, dial],
  ]);
  // The SDK's native library writes its own log to standard output before.
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  return JSON.parse(last) as Tour;
}
