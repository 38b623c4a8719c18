// Reads a machine-micro-server with the published TypeScript SDK, over gRPC-web as a browser program
// would. Arguments: the port on localhost, API key id, API key. Writes what it found as one JSON
// object.
import process from "node:process";

// Where there is a Worker the SDK takes the rest of a browser for granted, window and all.
delete globalThis.Worker;

// Not a literal: the SDK is no dependency of the project, only this folder's deno.json knows it.
const SDK = "@viamrobotics/sdk";
const { MotorClient, RobotClient, SensorClient } = await import(SDK);

const [port, authEntity, payload] = Deno.args;
const robot = new RobotClient();
await robot.dial({
  host: `http://localhost:${port}`,
  credentials: { type: "api-key", authEntity, payload },
  noReconnect: true,
});
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
