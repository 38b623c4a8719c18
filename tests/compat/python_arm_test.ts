import assert from "node:assert/strict";
import { join } from "node:path";
import { runPython } from "../e2e/python_sdk.ts";
import { eventually, READY_LINE, rigTest } from "../e2e/rig.ts";

const DOCUMENT = new URL("../../docs/services.md", import.meta.url);

rigTest(
  "the published Python SDK moves the arm of docs/services.md around a pillar",
  async (rig) => {
    const text = /### Arms[^]*?```json\n([^`]*)```/.exec(await Deno.readTextFile(DOCUMENT))?.[1];
    const file = join(rig.dir, "arm.json");
    const network = { bind_address: `127.0.0.1:${rig.serverPort}` };
    await Deno.writeTextFile(file, JSON.stringify({ ...JSON.parse(text ?? ""), network }));
    const server = rig.spawn("machine-server", ["-config", file]);
    await server.waitForLine(READY_LINE, 120_000);
    await eventually("the motion service is ready", async () => {
      const method = "viam.service.motion.v1.MotionService/GetPose";
      const response = await fetch(`http://127.0.0.1:${rig.serverPort}/${method}`, {
        signal: AbortSignal.timeout(60_000),
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name: "motion", componentName: "gripper" }),
      });
      await response.body?.cancel();
      return response.ok;
    });

    const { stdout } = await runPython(new URL("arm_tour.py", import.meta.url), [
      `127.0.0.1:${rig.serverPort}`,
    ]);
    const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
    const found = JSON.parse(last) as Record<string, unknown>;
    const near = (name: string, wanted: number[]) =>
      (found[name] as number[]).forEach((value, at) =>
        assert.ok(Math.abs(value - wanted[at]!) < 0.5, `${name}: ${found[name]}`)
      );
    assert.equal(found["moved"], true);
    near("gripper", [300, -400, 300, -1]);
    near("end", [300, -500, 360, -1]); // the gripper is 100 mm long
    near("from_pillar", [-330, 130, -70, -1]);
    assert.match(
      String(found["inside"]),
      /FAILED_PRECONDITION.*at the destination .* and pillar would touch/,
    );
    assert.match(String(found["far"]), /FAILED_PRECONDITION.*out of reach/);
    assert.match(String(found["lost"]), /NOT_FOUND.*no frame moon/);
    assert.deepEqual(found["kinematics"], [1, "DH"]);
    near("position", [-300, -300, 400, -1]);
  },
);
