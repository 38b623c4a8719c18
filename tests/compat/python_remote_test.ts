/** The published Python SDK's own server as a remote: it lacks most of `RobotService`. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { BaseService } from "../../shared/gen/viam/component/base/v1/base_pb.ts";
import { CameraService } from "../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { GenericService } from "../../shared/gen/viam/component/generic/v1/generic_pb.ts";
import { MotorService } from "../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { MovementSensorService } from "../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { ResourceStatus_State, RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { Program } from "../e2e/program.ts";
import { ensurePythonSdk } from "../e2e/python_sdk.ts";
import { eventually, READY_LINE, type Rig, rigTest } from "../e2e/rig.ts";

const SERVER = new URL("remote_server.py", import.meta.url);
const DEADLINE_MS = 90_000;
const { READY } = ResourceStatus_State;

async function startPython(rig: Rig, port: number): Promise<Program> {
  const program = Program.start({
    name: "the Python SDK's server",
    command: await ensurePythonSdk(),
    args: [fileURLToPath(SERVER), `${port}`],
    env: { PYTHONDONTWRITEBYTECODE: "1" },
  });
  rig.programs.push(program);
  await program.waitForLine(/Serving on 127\.0\.0\.1/, DEADLINE_MS);
  return program;
}

/** A rover whose wheels and compass are the remote's. */
async function startRover(rig: Rig, port: number): Promise<void> {
  const file = join(rig.dir, "rover.json");
  const component = (name: string, kind: string, model: string, attributes: unknown) => ({
    ...{ name, api: `rdk:component:${kind}`, model: `rdk:builtin:${model}`, attributes },
  });
  const base = { left: ["py-left"], right: ["python:py-right"], width_mm: 200 };
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      remotes: [{
        ...{ name: "python", address: `127.0.0.1:${port}`, prefix: "py-" },
        frame: { parent: "world" },
      }],
      components: [
        component("base", "base", "wheeled", { ...base, wheel_circumference_mm: 300 }),
        component("merged", "movement_sensor", "merged", {
          compass_heading: ["python:py-compass"],
        }),
        { ...component("guard", "generic", "fake", {}), depends_on: ["py-force"] },
        component("own", "sensor", "fake", {}),
      ],
      network: { bind_address: `127.0.0.1:${rig.serverPort}` },
    }),
  );
  const server = rig.spawn("machine-server", ["-config", file, "-disable-mdns"]);
  await server.waitForLine(READY_LINE, DEADLINE_MS);
}

rigTest("the published Python SDK's server is a remote, and comes back", async (rig) => {
  const port = freePort();
  const python = await startPython(rig, port);
  await startRover(rig, port);
  const transport = createGrpcTransport({ baseUrl: rig.serverUrl });
  try {
    const robot = createClient(RobotService, transport);
    const motors = createClient(MotorService, transport);
    const sensors = createClient(SensorService, transport);
    const status = async () => {
      const { resources } = await robot.getMachineStatus({});
      return new Map(resources.map(({ name, state, error }) => [name?.name, { state, error }]));
    };
    const powers = async () => {
      const names = ["py-left", "py-right"];
      const found = await Promise.all(names.map((name) => motors.isPowered({ name })));
      return found.map(({ powerPct }) => powerPct);
    };
    const DEPENDENT = ["base", "merged", "guard", "python:py-force", "python:py-left"];
    const allReady = async () => {
      const found = await status();
      return [...DEPENDENT, "own", "python"].every((name) => found.get(name)?.state === READY);
    };
    await eventually("everything is ready", allReady, DEADLINE_MS);

    const { resources } = await robot.resourceNames({});
    assert.deepEqual(
      resources.filter(({ name }) => name.startsWith("python:"))
        .map(({ subtype, name }) => `${subtype} ${name}`).sort(),
      [
        "camera python:py-eye",
        "generic python:py-thing",
        "motor python:py-left",
        "motor python:py-right",
        "movement_sensor python:py-compass",
        "sensor python:py-force",
      ],
    );

    const force = await sensors.getReadings({ name: "python:py-force", extra: { a: true } });
    assert.deepEqual(force.readings["newton"]?.kind, { case: "numberValue", value: 12 });
    assert.match(JSON.stringify(force.readings["extra"]), /"value":"a"/);
    const asked = await sensors.doCommand({ name: "py-force", command: { weigh: [1] } });
    assert.deepEqual(asked.result, { "force heard": { weigh: [1] } });
    const thing = await createClient(GenericService, transport).doCommand({
      ...{ name: "py-thing", command: { blink: true } },
    });
    assert.deepEqual(thing.result, { "thing heard": { blink: true } });
    const eye = await createClient(CameraService, transport).getImages({ name: "py-eye" });
    assert.deepEqual(eye.images.map(({ sourceName, mimeType }) => [sourceName, mimeType]), [
      ["left", "image/jpeg"],
    ]);
    const movement = createClient(MovementSensorService, transport);
    for (const name of ["py-compass", "merged"]) {
      assert.equal((await movement.getCompassHeading({ name })).value, 123.5, name);
    }
    await assert.rejects(
      () => sensors.getReadings({ name: "py-force", extra: { fail: true } }),
      /the strain gauge is torn/,
    );
    await assert.rejects(
      () => motors.goFor({ name: "py-left", rpm: 10, revolutions: 1 }),
      (error) => ConnectError.from(error).rawMessage.includes("there is no encoder"),
    );

    await motors.setPower({ name: "py-left", powerPct: 0.5 });
    assert.deepEqual(await powers(), [0.5, 0]);
    await robot.stopAll({});
    assert.deepEqual(await powers(), [0, 0]);
    const bases = createClient(BaseService, transport);
    await bases.setPower({ name: "base", linear: { y: 0.25 } });
    assert.deepEqual(await powers(), [0.25, 0.25]);
    await bases.stop({ name: "base" });
    assert.deepEqual(await powers(), [0, 0]);

    // The SDK's server has no sessions: what this one's clients moved stops all the same.
    const { id } = await robot.startSession({});
    await motors.setPower({ name: "py-right", powerPct: 1 }, { headers: { "viam-sid": id } });
    await eventually("the motor stops when its program is silent", async () => {
      return (await powers())[1] === 0;
    }, DEADLINE_MS);

    // It has no frames either.
    const { frameSystemConfigs } = await robot.frameSystemConfig({});
    assert.ok(frameSystemConfigs.every(({ frame }) => !frame?.referenceFrame.includes("py-")));

    python.signal("SIGKILL");
    await eventually("what was the remote's is unavailable, and says why", async () => {
      const found = await status();
      const gone = DEPENDENT.every((name) => found.get(name)?.state !== READY);
      return gone &&
        /^remote python is not connected: 127\.0\.0\.1:\d+ cannot be reached/.test(
          found.get("python:py-force")?.error ?? "",
        );
    }, DEADLINE_MS);
    assert.equal((await status()).get("own")?.state, READY);
    await assert.rejects(
      () => sensors.getReadings({ name: "python:py-force" }),
      (error) => ConnectError.from(error).code === Code.Unavailable,
    );

    await startPython(rig, port);
    await eventually("everything is back", allReady, DEADLINE_MS);
    const again = await sensors.getReadings({ name: "py-force" });
    assert.deepEqual(again.readings["newton"]?.kind, { case: "numberValue", value: 12 });
  } finally {
    transport.close();
  }
});
