import assert from "node:assert/strict";
import { type Rig, rigTest } from "../e2e/rig.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";

interface Tour {
  organizations: string[];
  locations: string[];
  machines: string[];
  parts: string[];
  logs: string[];
  tailed: number;
  saved: unknown;
  refusal: string;
}

rigTest(
  "the published TypeScript SDK lists, reads, updates and tails logs over gRPC-web",
  async (rig) => {
    await rig.startCloud();
    await rig.startServer();
    const found = await tour(rig);

    assert.deepEqual(found.organizations, ["Test"]);
    assert.deepEqual(found.locations, ["Lab"]);
    assert.deepEqual(found.machines, ["bench"]);
    assert.deepEqual(found.parts, ["bench-main"]);
    assert.ok(found.logs.length > 0);
    assert.ok(found.tailed > 0);
    assert.deepEqual(found.saved, rig.withFakeReadings({ from_typescript: 43 }));
    // 3 is INVALID_ARGUMENT.
    assert.match(found.refusal, /^3 .*components/);
  },
);

rigTest(
  "the published TypeScript SDK is told UNAUTHENTICATED when the key is wrong",
  async (rig) => {
    await rig.startCloud();
    await assert.rejects(tour(rig, "wrong"), /unauthenticated/);
  },
);

function tour(rig: Rig, key = rig.bootstrapped.api_key): Promise<Tour> {
  return runTypescriptSdk("tour.mjs", [rig.cloudUrl, rig.bootstrapped.api_key_id, key]);
}
