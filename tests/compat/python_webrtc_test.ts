/** The published Python SDK, whose library in Rust makes its WebRTC connections. */
import { createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { MotorService } from "../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { noNamesBecause, withName } from "../e2e/named_hosts.ts";
import { Program } from "../e2e/program.ts";
import { ensurePythonSdk } from "../e2e/python_sdk.ts";
import { eventually, READY_LINE, type Rig, rigTest } from "../e2e/rig.ts";
import { IMAGE_BYTES, startWebrtcMachine, webrtcComponents } from "./webrtc_rig.ts";

const TOUR = fileURLToPath(new URL("webrtc_tour.py", import.meta.url));
const DEADLINE_MS = 600_000;
/** What the server writes when somebody has come over WebRTC, and through whom. */
const openLine = (signaledBy: string) =>
  new RegExp(`a WebRTC connection is open\\s+\\{"signaled_by":"${signaledBy}"`);

/** What `webrtc_tour.py tour` found. */
interface Tour {
  resources: string[];
  readings: Record<string, unknown>;
  echoed: boolean;
  picture: [number, string];
  audio: number[];
  powered: [boolean, number];
  many: number;
  refused: string;
  version: string;
}

/** Starts a part of the tour; it is terminated with the rig. */
async function startTour(rig: Rig, what: string, address: string, key = ["", ""]) {
  const program = Program.start({
    name: `webrtc_tour.py ${what}`,
    command: await ensurePythonSdk(),
    args: [TOUR, what, address, ...key],
    env: { PYTHONDONTWRITEBYTECODE: "1" },
  });
  rig.programs.push(program);
  return program;
}

function assertTour(found: Tour): void {
  assert.deepEqual(found.resources, ["audio_in", "camera", "generic", "motor", "sensor"]);
  assert.deepEqual(found.readings, { a: 1, text: "hello" });
  assert.equal(found.echoed, true);
  assert.equal(found.picture[0], IMAGE_BYTES);
  assert.deepEqual(found.audio, [8820, 8820, 4410]);
  assert.deepEqual(found.powered, [true, 0.5]);
  assert.equal(found.many, 200);
  assert.match(found.refused, /cannot move at 0 RPM/);
  assert.match(found.version, /^v\d+\.\d+\.\d+$/);
}

rigTest("the published Python SDK uses a machine over WebRTC", async (rig) => {
  const { server, imageSha256 } = await startWebrtcMachine(rig);
  const program = await startTour(rig, "tour", `127.0.0.1:${rig.serverPort}`);
  const [line] = await program.waitForLine(/^\{"resources".*/, DEADLINE_MS);
  const found = JSON.parse(line) as Tour;
  assertTour(found);
  assert.equal(found.picture[1], imageSha256);
  await server.waitForLine(openLine("own port"), DEADLINE_MS);
  assert.equal((await program.waitForEnd()).code, 0);
  await server.waitForLine(/a WebRTC connection was closed/, DEADLINE_MS);
});

rigTest("what a Python program moved over WebRTC stops when the program dies", async (rig) => {
  const { server } = await startWebrtcMachine(rig);
  const transport = createGrpcTransport({ baseUrl: rig.serverUrl });
  const motor = createClient(MotorService, transport);
  const isOn = async () => (await motor.isPowered({ name: "motor" })).isOn;
  try {
    const program = await startTour(rig, "move", `127.0.0.1:${rig.serverPort}`);
    await program.waitForLine(/"powered": \[true/, DEADLINE_MS);
    assert.equal(await isOn(), true);
    program.signal("SIGKILL");
    await eventually("the motor has stopped", async () => !await isOn());
    await server.waitForLine(/a session expired without a heartbeat/, DEADLINE_MS);
  } finally {
    transport.close();
  }
});

rigTest(
  "the published Python SDK comes back over WebRTC after the server's restart",
  async (rig) => {
    const { server, file } = await startWebrtcMachine(rig);
    const program = await startTour(rig, "watch", `127.0.0.1:${rig.serverPort}`);
    await program.waitForLine(/"version"/, DEADLINE_MS);
    server.signal("SIGKILL", "group");
    await server.waitForEnd();
    await program.waitForLine(/"error"/, DEADLINE_MS);
    const again = rig.spawn("machine-server", ["-config", file, "-debug"]);
    await again.waitForLine(READY_LINE, DEADLINE_MS);
    await again.waitForLine(openLine("own port"), DEADLINE_MS);
    await again.waitForLine(/RobotService\/GetVersion",.*"status":"OK"/, DEADLINE_MS);
  },
);

/**
 * The SDK asks the host whose name it is given; as root this host can be determined who that is.
 */
const cannotName = ignoreBecause(import.meta.url, await noNamesBecause());

rigTest("the published Python SDK uses a machine over WebRTC through the cloud", async (rig) => {
  await rig.bootstrap({ ...rig.defaultConfig(), ...await webrtcComponents(rig) });
  await rig.startCloud();
  const server = await rig.startServer(["-debug"]);
  const { fqdn, api_key_id: id, api_key: key } = rig.bootstrapped;
  const python = await ensurePythonSdk();
  const address = `${fqdn}:${rig.cloudPort}`;
  const program = Program.start({
    name: "webrtc_tour.py",
    ...await withName(rig.dir, fqdn, python, [TOUR, "tour", address, id, key]),
    env: { PYTHONDONTWRITEBYTECODE: "1" },
  });
  rig.programs.push(program);
  const [line] = await program.waitForLine(/^\{"resources".*/, DEADLINE_MS);
  assertTour(JSON.parse(line) as Tour);
  await server.waitForLine(openLine("cloud"), DEADLINE_MS);
}, { ignore: cannotName });
