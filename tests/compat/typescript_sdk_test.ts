import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type Rig, rigTest } from "../e2e/rig.ts";

const FOLDER = new URL("typescript_sdk/", import.meta.url);

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

/** Runs the SDK in a process of its own: its libraries are older majors of ours. */
async function tour(rig: Rig, key = rig.bootstrapped.api_key): Promise<Tour> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", "--frozen"],
      ...["--config", fileURLToPath(new URL("deno.json", FOLDER))],
      fileURLToPath(new URL("tour.mjs", FOLDER)),
      ...[rig.cloudUrl, rig.bootstrapped.api_key_id, key],
    ],
    cwd: FOLDER,
    stdin: "null",
    signal: AbortSignal.timeout(60_000),
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout)) as Tour;
}
