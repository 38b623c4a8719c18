import { checkProvisioning } from "./provisioning_rig.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";

Deno.test("the published TypeScript SDK's ProvisioningClient sets a machine up, by all of its calls", async () => {
  await checkProvisioning((port) =>
    runTypescriptSdk("provisioning_tour.mjs", [`http://127.0.0.1:${port}`])
  );
});
