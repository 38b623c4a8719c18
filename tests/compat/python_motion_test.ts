import assert from "node:assert/strict";
import { join } from "node:path";
import { runPython } from "../e2e/python_sdk.ts";
import { eventually, READY_LINE, rigTest } from "../e2e/rig.ts";

const DOCUMENT = new URL("../../docs/services.md", import.meta.url);

rigTest("the published Python SDK drives the rover of docs/services.md to a place", async (rig) => {
  const text = /## Motion[^]*?```json\n([^`]*)```/.exec(await Deno.readTextFile(DOCUMENT))?.[1];
  const file = join(rig.dir, "motion.json");
  const network = { bind_address: `127.0.0.1:${rig.serverPort}` };
  await Deno.writeTextFile(file, JSON.stringify({ ...JSON.parse(text ?? ""), network }));
  const server = rig.spawn("machine-server", ["-config", file]);
  await server.waitForLine(READY_LINE, 120_000);
  await eventually("the rover is ready", async () => {
    const method = "viam.service.motion.v1.MotionService/ListPlanStatuses";
    const position = "viam.component.movementsensor.v1.MovementSensorService/GetPosition";
    const isReady = async (method: string, name: string) => {
      const response = await fetch(`http://127.0.0.1:${rig.serverPort}/${method}`, {
        signal: AbortSignal.timeout(60_000),
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name }),
      });
      await response.body?.cancel();
      return response.ok;
    };
    return await isReady(method, "motion") && await isReady(position, "odometry");
  });

  const { stdout } = await runPython(new URL("motion_tour.py", import.meta.url), [
    `127.0.0.1:${rig.serverPort}`,
  ]);
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  const found = JSON.parse(last) as Record<string, unknown>;
  assert.deepEqual(found["states"], [3, 2], "the first arrived, the second was stopped");
  assert.deepEqual(found["active"], 0);
  const [north, east] = found["arrived"] as number[];
  assert.ok(Math.abs(north! - 1) < 0.2 && Math.abs(east!) < 0.2, `${north}, ${east}`);
  assert.ok((found["steps"] as number) > 2, "there is a way around the obstacle");
  assert.equal(found["same_execution"], true);
  assert.match(String(found["move"]), /NOT_FOUND.*no frame rover/);
  assert.match(String(found["unknown"]), /NOT_FOUND.*no plan of nobody/);
});
