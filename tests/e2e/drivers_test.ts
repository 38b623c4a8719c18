/** Drivers of hardware, on a simulated board, as a real program with the published SDK. */
import { createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { join } from "node:path";
import { MotorService } from "../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import { runPython } from "./python_sdk.ts";
import { eventually, READY_LINE, type Rig, rigTest } from "./rig.ts";

const PAGE = new URL("../../docs/drivers.md", import.meta.url);
const DEADLINE_MS = 60_000;

/** Starts the rover of the page; returns the page's program. */
async function startRover(rig: Rig): Promise<string> {
  const page = (await Deno.readTextFile(PAGE))
    .replaceAll("127.0.0.1:8080", `127.0.0.1:${rig.serverPort}`);
  const blocks = [...page.matchAll(/^```(json|python)\n([^]*?)^```$/gm)];
  const file = join(rig.dir, "rover.json");
  await Deno.writeTextFile(file, blocks.find(([, language]) => language === "json")?.[2] ?? "");
  const server = rig.spawn("machine-server", ["-config", file, "-disable-mdns"]);
  await server.waitForLine(READY_LINE, DEADLINE_MS);
  return blocks.find(([, language]) => language === "python")?.[2] ?? "";
}

rigTest("docs/drivers.md has a rover that drives a square with the published SDK", async (rig) => {
  const program = await startRover(rig);
  const file = join(rig.dir, "square.py");
  await Deno.writeTextFile(file, program);
  const { stdout } = await runPython(new URL(`file://${file}`), []);
  const [, x, y, turns] = /^x (-?[\d.]+) m, y (-?[\d.]+) m, left wheel ([\d.]+) turns/m.exec(
    new TextDecoder().decode(stdout),
  ) ?? [];
  assert.ok(Math.hypot(Number(x), Number(y)) <= 0.2, `it ended at ${x}, ${y}`);
  assert.ok(Math.abs(Number(turns) - 1.9) <= 0.3, `${turns} turns`);
});

rigTest("a motor stops when the session that moved it falls silent", async (rig) => {
  await startRover(rig);
  const transport = createGrpcTransport({ baseUrl: rig.serverUrl });
  try {
    const robot = createClient(RobotService, transport);
    const motor = createClient(MotorService, transport);
    const { id } = await robot.startSession({});
    await motor.setPower({ name: "left", powerPct: 0.5 }, { headers: { "viam-sid": id } });
    assert.equal((await motor.isPowered({ name: "left" })).isOn, true);
    await eventually(
      "the motor stops",
      async () => !(await motor.isPowered({ name: "left" })).isOn,
      DEADLINE_MS,
    );
  } finally {
    transport.close();
  }
});
