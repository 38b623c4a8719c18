// Uses a machine over WebRTC with the published TypeScript SDK, as a browser program would.
// Arguments: the machine's name, the address of its signaller, API key id, API key (both empty:
// none). Writes what it found as one JSON object.
import process from "node:process";
import "./browser_parts.mjs";

// What the SDK tells goes beside the answer.
// deno-lint-ignore no-console
for (const name of ["log", "debug", "info"]) console[name] = console.error;

// Not a literal: the SDK is no dependency of the project, only this folder's deno.json knows it.
const SDK = "@viamrobotics/sdk";
const {
  CameraClient,
  createRobotClient,
  GenericComponentClient,
  MotorClient,
  SensorClient,
} = await import(SDK);

const [host, signalingAddress, authEntity, payload] = Deno.args;
const began = performance.now();
const robot = await createRobotClient({
  host,
  signalingAddress,
  ...(authEntity && { credentials: { type: "api-key", authEntity, payload } }),
  iceServers: [],
  dialTimeout: 90_000,
  noReconnect: true,
});
const connectedMs = Math.round(performance.now() - began);

const sensor = new SensorClient(robot, "sensor");
const readings = await sensor.getReadings();
const text = "x".repeat(200_000);
const { Struct } = await import(SDK);
const echoed = await new GenericComponentClient(robot, "generic")
  .doCommand(Struct.fromJson({ text }));
const { images } = await new CameraClient(robot, "camera").getImages();
const motor = new MotorClient(robot, "motor");
await motor.setPower(0.5);
const powered = await motor.isPowered();
await motor.stop();
const many = await Promise.all(
  Array.from({ length: 200 }, () => sensor.getReadings()),
);
const refusal = await motor.goFor(0, 1).then(
  () => "done",
  (error) => `${error}`,
);

process.stdout.write(JSON.stringify({
  connectedMs,
  isWebRtc: robot.peerConnection?.connectionState,
  names: (await robot.resourceNames()).map(({ name }) => name).sort(),
  readings,
  echoed: echoed.text?.length,
  picture: images[0].image.length,
  powered,
  many: many.length,
  refusal,
}, (_key, value) => typeof value === "bigint" ? Number(value) : value));
process.exit(0);
