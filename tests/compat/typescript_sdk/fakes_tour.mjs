// Uses a machine's fake arm, camera and vision service with the published TypeScript SDK, over
// gRPC-web as a browser program would. Argument: the server's port on localhost; it lets everybody
// in. Writes what it found as one JSON object.
import process from "node:process";

// Where there is a Worker the SDK takes the rest of a browser for granted, window and all.
delete globalThis.Worker;

// Not a literal: the SDK is no dependency of the project, only this folder's deno.json knows it.
const SDK = "@viamrobotics/sdk";
const { ArmClient, CameraClient, RobotClient, VisionClient } = await import(SDK);

// Without a signalling address the SDK connects directly, but only to hosts that look local.
const robot = new RobotClient();
await robot.dial({ host: `http://localhost:${Deno.args[0]}`, noReconnect: true });
const arm = new ArmClient(robot, "arm");
const camera = new CameraClient(robot, "camera");
const vision = new VisionClient(robot, "vision");

const names = await robot.resourceNames();
const version = await robot.getVersion();
const status = await robot.getMachineStatus();
const before = await arm.getJointPositions();
await arm.moveToJointPositions([45]);
const after = await arm.getJointPositions();
const { images } = await camera.getImages();
const everything = await vision.captureAllFromCamera("camera", {
  returnImage: true,
  returnClassifications: true,
  returnDetections: true,
  returnObjectPointClouds: false,
});
const [detection] = await vision.getDetectionsFromCamera("camera");
await robot.stopAll();

process.stdout.write(JSON.stringify({
  names: names.map(({ name }) => name),
  version,
  resources: status.resources.length,
  before: before.values,
  after: after.values,
  isMoving: await arm.isMoving(),
  image: { mimeType: images[0].mimeType, bytes: images[0].image.length },
  supportsPcd: (await camera.getProperties()).supportsPcd,
  classifications: everything.classifications,
  captured: everything.image.image.length,
  box: [detection.xMin, detection.yMin, detection.xMax, detection.yMax].map(Number),
  properties: await vision.getProperties(),
}, (_key, value) => typeof value === "bigint" ? Number(value) : value));
process.exit(0);
