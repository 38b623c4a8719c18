// Uses a cloud with the published TypeScript SDK, over gRPC-web, as a browser program would.
// Arguments: cloud URL, API key id, API key. Writes what it found as one JSON object.
import process from "node:process";

// Not a literal: the SDK is no dependency of the project, only this folder's deno.json knows it.
const SDK = "@viamrobotics/sdk";
const { createViamClient } = await import(SDK);

const [serviceHost, authEntity, payload] = Deno.args;
const client = await createViamClient({
  serviceHost,
  credentials: { type: "api-key", authEntity, payload },
});
const app = client.appClient;

const organizations = await app.listOrganizations();
const locations = await app.listLocations(organizations[0].id);
const machines = await app.listRobots(locations[0].id);
const parts = await app.getRobotParts(machines[0].id);
const { part } = await app.getRobotPart(parts[0].id);
const logs = await until(async () => {
  const answer = await app.getRobotPartLogs(part.id);
  return answer.logs.length > 0 ? answer.logs : undefined;
});

// A server stream of lines that come from now on: the save below makes the machine write some.
const tail = [];
app.tailRobotPartLogs(part.id, tail, undefined, false).catch((error) =>
  process.stderr.write(`${error}\n`)
);

const config = part.robotConfig.toJson();
config.components[1].attributes = { readings: { from_typescript: 43 } };
const { constructor: Struct } = part.robotConfig;
await app.updateRobotPart(part.id, part.name, Struct.fromJson(config));
const saved = (await app.getRobotPart(part.id)).part.robotConfig.toJson();

const tailed = await until(() => Promise.resolve(tail.length > 0 ? tail : undefined));

const refusal = await app.updateRobotPart(
  part.id,
  part.name,
  Struct.fromJson({ components: "none" }),
).then(() => "saved", (error) => `${error.code} ${error.rawMessage}`);

process.stdout.write(JSON.stringify({
  organizations: organizations.map((organization) => organization.name),
  locations: locations.map((location) => location.name),
  machines: machines.map((machine) => machine.name),
  parts: parts.map((part) => part.name),
  logs: logs.map((entry) => entry.message),
  tailed: tailed.length,
  saved,
  refusal,
}));
process.exit(0);

async function until(probe) {
  for (let attempt = 0; attempt < 900; attempt++) {
    const found = await probe();
    if (found !== undefined) return found;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("no log lines arrived");
}
