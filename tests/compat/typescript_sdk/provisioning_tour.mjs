// Sets a machine up with the published TypeScript SDK's ProvisioningClient, as an app on a phone does.
// Argument: the URL of machine-agent's API for it. Writes what it found as one JSON object.
import process from "node:process";
import { CODE, recorded, refused, sdk } from "./calls.mjs";

// The agent's API knows nobody; a credential that is not exchanged for a token first is sent along.
const { provisioningClient } = await sdk.createViamClient({
  serviceHost: Deno.args[0],
  credentials: { type: "access-token", payload: "none" },
});
const { client, uncalled } = recorded(provisioningClient);

const networks = await client.getNetworkList();
const status = await client.getSmartMachineStatus();
await client.setNetworkCredentials("wifi", networks[0].ssid, "a password");
await refused(client.setNetworkCredentials("wired", "x", "y"), CODE.invalid, "wired");
await client.setSmartMachineCredentials(
  new sdk.provisioningApi.CloudConfig({
    ...{ id: "part", secret: "s", appAddress: "https://cloud.example.com" },
  }),
);

process.stdout.write(JSON.stringify({
  networks: networks.map(({ ssid, security, signal }) => [ssid, security, signal]),
  model: status.provisioningInfo?.model,
  agent: status.agentVersion,
  online: status.isOnline,
  uncalled: uncalled(),
}));
process.exit(0);
