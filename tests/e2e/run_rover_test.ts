import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BaseService } from "../../shared/gen/viam/component/base/v1/base_pb.ts";
import { CameraService } from "../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { SIGHTING } from "../../tools/run/sightings.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { Program } from "./program.ts";
import { eventually } from "./rig.ts";

const MAIN = fileURLToPath(new URL("../../tools/run/main.ts", import.meta.url));

Deno.test("make run's rover turns to the red ball, and the trigger prints that it was seen", async () => {
  const dir = await Deno.makeTempDir({ prefix: "machine-rover-" });
  const port = freePort(2);
  const run = Program.start({
    name: "make run",
    command: Deno.execPath(),
    args: ["run", "-A", "--no-check", MAIN],
    env: { PORT: `${port}`, MACHINE_DEV_DIR: join(dir, "demo") },
  });
  try {
    await run.waitForLine(/^Ctrl-C stops everything/, 120_000);
    const guide = run.lines.join("\n");
    const key = (name: string) => new RegExp(`API key${name} {2,}(\\S+)`).exec(guide)?.[1] ?? "";
    const machine = await signIn(`http://127.0.0.1:${port + 1}`, { id: key(" id"), key: key("") });
    await eventually("the rover and its camera are ready", async () => {
      const { resources } = await machine.client(RobotService).resourceNames({});
      const names = resources.map(({ name }) => name);
      return ["rover", "camera", "red-ball"].every((name) => names.includes(name));
    });
    const look = async () =>
      (await machine.client(CameraService).getImages({ name: "camera" })).images[0]!.image;
    const before = await look();
    assert.ok(!run.lines.includes(SIGHTING), "the red ball lies behind the rover");
    await machine.client(BaseService).spin({ name: "rover", angleDeg: 180, degsPerSec: 90 });
    assert.notDeepEqual(await look(), before, "the camera turned with the rover");
    const words = SIGHTING.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    await run.waitForLine(new RegExp(`^${words}$`), 60_000);
  } finally {
    await run.stop(15_000);
    await Deno.remove(dir, { recursive: true });
  }
});
