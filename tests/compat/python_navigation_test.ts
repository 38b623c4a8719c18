import assert from "node:assert/strict";
import { runPython } from "../e2e/python_sdk.ts";
import { type Rig, rigTest } from "../e2e/rig.ts";
import { startNavigation } from "./navigation_rig.ts";

rigTest(
  "the published Python SDK navigates the rover of docs/services.md, over a power cut",
  async (rig) => {
    const server = await startNavigation(rig);
    const before = await tour(rig, "before");
    assert.deepEqual(before["states"], [1, 2, 1, 3], "active, suspended, active, succeeded");
    assert.equal(before["reason"], "somebody is in the way");
    assert.equal(before["location"], "door");
    const [places, length] = before["plan"] as number[];
    assert.ok(places! > 2 && length! > 1, "there is a way around the stone");
    const [north, east] = before["arrived"] as number[];
    assert.ok(Math.abs(north! - 1) < 0.2 && Math.abs(east!) < 0.2, `${north}, ${east}`);
    assert.deepEqual(before["properties"], [2, 0.2, true]);
    assert.match(String(before["inside"]), /FAILED_PRECONDITION.*pond/);
    assert.equal(before["costmap"], false);

    server.signal("SIGKILL");
    await server.waitForEnd();
    await startNavigation(rig);
    const after = await tour(rig, "after");
    assert.deepEqual(after["locations"], ["dock", "door"]);
    const dock = after["dock"] as number[];
    assert.ok(Math.hypot(...dock) < 0.2, `${dock}`);
    assert.deepEqual([after["route"], after["zone"]], [["door", "dock"], ["pond"]]);
    assert.equal(after["state"], 3, "odometry begins anew at the dock, so it is there");
    assert.match(String(after["unknown"]), /NOT_FOUND.*no location nowhere/);
  },
);

async function tour(rig: Rig, which: string): Promise<Record<string, unknown>> {
  const { stdout } = await runPython(new URL("navigation_tour.py", import.meta.url), [
    `127.0.0.1:${rig.serverPort}`,
    which,
  ]);
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  return JSON.parse(last) as Record<string, unknown>;
}
