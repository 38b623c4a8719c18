/** Machines that use resources of other machines, as real programs. */
import { createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { ResourceStatus_State, RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { runPython } from "./python_sdk.ts";
import { eventually, READY_LINE, type Rig, rigTest } from "./rig.ts";

const PAGE = new URL("../../docs/remotes.md", import.meta.url);
const MODULE = fileURLToPath(new URL("../modules/plain.ts", import.meta.url));
const DEADLINE_MS = 90_000;

/** Starts a further server, with a home of its own. */
async function startOther(rig: Rig, name: string, config: unknown) {
  const file = join(rig.dir, `${name}.json`);
  await Deno.writeTextFile(file, JSON.stringify(config));
  const home = join(rig.dir, `home-${name}`);
  const server = rig.spawn("machine-server", ["-config", file, "-disable-mdns"], {
    MACHINE_HOME: home,
  });
  await server.waitForLine(READY_LINE, DEADLINE_MS);
  return server;
}

rigTest("docs/remotes.md has an example that works as it stands there", async (rig) => {
  const ports = [rig.serverPort, freePort()] as const;
  const page = (await Deno.readTextFile(PAGE))
    .replaceAll("127.0.0.1:8080", `127.0.0.1:${ports[0]}`)
    .replaceAll("127.0.0.1:8081", `127.0.0.1:${ports[1]}`);
  const blocks = [...page.matchAll(/^```(json|python)\n([^]*?)^```$/gm)];
  const [arm, rover] = blocks.filter(([, language]) => language === "json")
    .map(([, , text = ""]) => JSON.parse(text) as unknown);
  const program = blocks.find(([, language]) => language === "python")?.[2] ?? "";
  await startOther(rig, "arm", arm);
  const server = await startOther(rig, "rover", rover);
  await server.waitForLine(/remote arm is connected/, DEADLINE_MS);
  const transport = createGrpcTransport({ baseUrl: rig.serverUrl });
  try {
    const robot = createClient(RobotService, transport);
    await eventually("the guard is ready", async () => {
      const { resources } = await robot.getMachineStatus({});
      const guard = resources.find(({ name }) => name?.name === "guard");
      return guard?.state === ResourceStatus_State.READY;
    }, DEADLINE_MS);
  } finally {
    transport.close();
  }
  const file = join(rig.dir, "read.py");
  await Deno.writeTextFile(file, program);
  const { stdout } = await runPython(new URL(`file://${file}`), []);
  assert.match(new TextDecoder().decode(stdout), /^newton 12/m);
});

rigTest("a module's resource uses one of a remote, and waits while it is away", async (rig) => {
  const arm = {
    components: [{
      ...{ name: "force", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
      attributes: { readings: { newton: 12 } },
    }],
    network: { bind_address: `127.0.0.1:${freePort()}` },
  };
  const executable = join(rig.dir, "plain.sh");
  const run = `exec '${Deno.execPath()}' run -A --quiet --no-check '${MODULE}' "$@"`;
  await Deno.writeTextFile(executable, `#!/bin/sh\n${run}\n`, { mode: 0o755 });
  let far = await startOther(rig, "arm", arm);
  await startOther(rig, "rover", {
    remotes: [{ name: "arm", address: arm.network.bind_address }],
    modules: [{ name: "plain", type: "local", executable_path: executable }],
    components: [
      {
        ...{ name: "reader", api: "rdk:component:sensor", model: "acme:plain:reader" },
        attributes: { source: "force" },
      },
      { name: "apart", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
    ],
    network: { bind_address: `127.0.0.1:${rig.serverPort}` },
  });
  const transport = createGrpcTransport({ baseUrl: rig.serverUrl });
  try {
    const robot = createClient(RobotService, transport);
    const sensors = createClient(SensorService, transport);
    const becomes = (name: string, ready: boolean) =>
      eventually(`${name} is ${ready ? "ready" : "not ready"}`, async () => {
        const { resources } = await robot.getMachineStatus({});
        const state = resources.find((resource) => resource.name?.name === name)?.state;
        return state !== undefined && (state === ResourceStatus_State.READY) === ready;
      }, DEADLINE_MS);
    const newton = async () => {
      const { readings } = await sensors.getReadings({ name: "reader" });
      return readings["newton"]?.kind.value;
    };
    await becomes("reader", true);
    assert.equal(await newton(), 12);
    far.signal("SIGKILL", "group");
    await becomes("reader", false);
    await becomes("apart", true);
    far = await startOther(rig, "arm", arm);
    await becomes("reader", true);
    assert.equal(await newton(), 12);
  } finally {
    transport.close();
  }
});

rigTest("the main part of a machine uses its other part through the cloud", async (rig) => {
  await rig.startCloud();
  const app = (await rig.cloud()).client(AppService);
  const { machine_id: robotId } = rig.bootstrapped;
  const { partId } = await app.newRobotPart({ robotId, partName: "arm" });
  await app.updateRobotPart({
    id: partId,
    name: "arm",
    robotConfig: {
      components: [{
        ...{ name: "force", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
        attributes: { readings: { newton: 12 } },
      }],
      network: { bind_address: `127.0.0.1:${freePort()}` },
    },
  });
  const config = rig.defaultConfig();
  await rig.saveConfig({
    ...config,
    components: [
      ...config["components"] as [],
      {
        ...{ name: "guard", api: "rdk:component:generic", model: "rdk:builtin:fake" },
        depends_on: ["arm:force"],
      },
    ],
  });
  const { part } = await app.getRobotPart({ id: partId });
  const cloud = { app_address: rig.cloudUrl, id: partId, secret: part?.secret };
  const server = await rig.startServer();
  const stateOf = async (name: string) => {
    const { resources } = await rig.machineStatus();
    return resources.find((one) => one.name?.name === name);
  };
  await eventually("the other part is missing", async () => {
    const error = (await stateOf("arm"))?.error ?? "";
    return /through the cloud: .*; directly: /.test(error);
  }, DEADLINE_MS);
  const arm = await startOther(rig, "arm", { cloud });
  await server.waitForLine(
    /remote arm is connected\s.*"over":"webrtc through the cloud"/,
    DEADLINE_MS,
  );
  await eventually(
    "the guard is ready",
    async () => (await stateOf("guard"))?.state === ResourceStatus_State.READY,
    DEADLINE_MS,
  );
  assert.deepEqual(await rig.readings("arm:force"), { newton: 12 });
  assert.deepEqual(await rig.readings("force"), { newton: 12 });

  arm.signal("SIGKILL", "group");
  await server.waitForLine(/remote arm is not connected/, DEADLINE_MS);
  await eventually("the sensor is gone", async () => {
    const error = (await stateOf("arm:force"))?.error ?? "";
    return error.startsWith("remote arm is not connected");
  }, DEADLINE_MS);
  assert.equal((await stateOf("host"))?.state, ResourceStatus_State.READY);
  await assert.rejects(
    () => readForce(rig),
    /resource rdk:component:sensor\/arm:force not available/,
  );
});

async function readForce(rig: Rig) {
  const sensors = (await rig.server()).client(SensorService);
  return await sensors.getReadings({ name: "force" });
}
