// Reads a machine-micro-server with the published TypeScript SDK, as a browser program would: over
// gRPC-web, or with a signaller over WebRTC. Arguments: the machine's address or name, API key id,
// API key, the signaller's address. Writes what it found as one JSON object.
import process from "node:process";
import "./browser_parts.mjs";

// Not a literal: the SDK is no dependency of the project, only this folder's deno.json knows it.
const SDK = "@viamrobotics/sdk";
const { createRobotClient, MotorClient, RobotClient, SensorClient } = await import(SDK);

// What the SDK tells goes with the errors.
// deno-lint-ignore no-console
for (const name of ["log", "debug", "info"]) console[name] = console.error;

const [host, authEntity, payload, signalingAddress] = Deno.args;
const credentials = { type: "api-key", authEntity, payload };
const robot = signalingAddress
  ? await createRobotClient({
    host,
    signalingAddress,
    credentials,
    iceServers: [],
    dialTimeout: 90_000,
    noReconnect: true,
  })
  : new RobotClient();
if (!signalingAddress) await robot.dial({ host, credentials, noReconnect: true });
const motor = new MotorClient(robot, "wheel");
await motor.goFor(6000, 2);
const names = await robot.resourceNames();
process.stdout.write(JSON.stringify({
  resources: names.map(({ name }) => name).sort(),
  fake: await new SensorClient(robot, "fake").getReadings(),
  position: await motor.getPosition(),
  version: (await robot.getVersion()).version,
}));
process.exit(0);
