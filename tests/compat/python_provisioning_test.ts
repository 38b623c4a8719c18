import { runPython } from "../e2e/python_sdk.ts";
import { checkProvisioning } from "./provisioning_rig.ts";

Deno.test("the published Python SDK's ProvisioningClient sets a machine up, by all of its calls", async () => {
  await checkProvisioning(async (port) => {
    const { stdout } = await runPython(new URL("provisioning_tour.py", import.meta.url), [
      `${port}`,
    ]);
    const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
    return JSON.parse(last);
  });
});
