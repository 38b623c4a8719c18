// Drives a base to waypoints with the published TypeScript SDK, which knows the older API of the
// navigation service. Argument: the server's port on localhost; it lets everybody in. Writes what it
// found as one JSON object.
import process from "node:process";

// Where there is a Worker the SDK takes the rest of a browser for granted, window and all.
delete globalThis.Worker;

// Not a literal: the SDK is no dependency of the project, only this folder's deno.json knows it.
const SDK = "@viamrobotics/sdk";
const { NavigationClient, RobotClient } = await import(SDK);
const MANUAL = 1;
const WAYPOINT = 2;
const DEADLINE_MS = 90_000;

const robot = new RobotClient();
await robot.dial({ host: `http://localhost:${Deno.args[0]}`, noReconnect: true });
const navigation = new NavigationClient(robot, "navigation");

async function until(condition) {
  const end = Date.now() + DEADLINE_MS;
  while (!await condition()) {
    if (Date.now() > end) throw new Error("not within its time");
    await new Promise((done) => setTimeout(done, 100));
  }
}

const mode = await navigation.getMode();
await navigation.addWayPoint({ latitude: 0, longitude: 0.000004 });
await navigation.addWayPoint({ latitude: 0.000004, longitude: 0.000002 });
const waypoints = await navigation.getWayPoints();
await navigation.removeWayPoint(waypoints[1].id);
await navigation.setMode(WAYPOINT);
let paths = [];
await until(async () => (paths = await navigation.getPaths()).length > 0);
await until(async () => (await navigation.getWayPoints()).length === 0);
const during = await navigation.getMode();
await navigation.setMode(MANUAL);
const { location, compassHeading } = await navigation.getLocation();
const explored = await navigation.setMode(3).then(() => "no error", (error) => String(error));

process.stdout.write(JSON.stringify({
  modes: [mode, during, await navigation.getMode()],
  added: waypoints.map(({ location }) => [location.latitude, location.longitude]),
  path: [paths[0].destinationWaypointId === waypoints[0].id, paths[0].geopoints.length],
  location: [location.latitude, location.longitude, compassHeading],
  mapType: (await navigation.getProperties()).mapType,
  obstacles: (await navigation.getObstacles()).map(({ geometries }) => geometries[0].label),
  explored,
}));
process.exit(0);
