// Drives every call of the published TypeScript SDK's AppClient, BillingClient and DataClient, and
// reads back what each did. Arguments: cloud URL, API key id, API key, organisation id, part id, an
// access token of ann@example.com, who owns the organisation as bob@example.com does. Writes what it
// found as one JSON object.
import process from "node:process";
import { recorded, sdk } from "./calls.mjs";
import { CASES as data } from "./data_cases.mjs";
import { CASES as fleet } from "./fleet_cases.mjs";
import { CASES as organization } from "./organization_cases.mjs";

const [serviceHost, authEntity, payload, organizationId, part, token] = Deno.args;
const connect = (credentials) => sdk.createViamClient({ serviceHost, credentials });
const client = await connect({ type: "api-key", authEntity, payload });
const person = await connect({ type: "access-token", payload: token });
const about = (await client.appClient.getRobotPart(part)).part;

const kinds = {
  app: recorded(client.appClient),
  person: recorded(person.appClient),
  billing: recorded(client.billingClient),
  data: recorded(client.dataClient),
};
const world = {
  app: kinds.app.client,
  person: kinds.person.client,
  billing: kinds.billing.client,
  data: kinds.data.client,
  as: async (credentials) => (await connect(credentials)).appClient,
  organization: organizationId,
  location: about.locationId,
  machine: about.robot,
  part,
  // The SDK does not export the class.
  toStruct: (json) => about.robotConfig.constructor.fromJson(json),
};
const failures = [];
for (const one of [...organization, ...fleet, ...data]) {
  await one(world).catch((error) => failures.push(`${one.name}: ${error.stack}`));
}
process.stdout.write(JSON.stringify({
  failures,
  uncalled: [
    ...kinds.app.uncalled(kinds.person.made),
    ...kinds.billing.uncalled(),
    ...kinds.data.uncalled(),
  ],
}));
process.exit(0);
