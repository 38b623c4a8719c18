/** The console's frame: signing in and out, addresses, the palette, the policy. */
import assert from "node:assert/strict";
import { consoleTest } from "./console_rig.ts";

consoleTest(
  import.meta.url,
  "the console signs in by key, keeps the address, and signs out",
  async (rig) => {
    const opened = await rig.page();
    await opened.go(`/machines/${rig.made.machine_id}/logs`);
    const tab = opened.page;
    await tab.getByRole("button", { name: "API key" }).click();
    await tab.getByLabel("Key id").fill(rig.made.api_key_id);
    await tab.getByLabel("Key", { exact: true }).fill("wrong");
    await tab.getByRole("button", { name: "Sign in" }).click();
    await tab.getByText("do not belong together").waitFor();
    opened.complaints.splice(0);
    await opened.inspect("sign-in");
    await tab.getByLabel("Key", { exact: true }).fill(rig.made.api_key);
    await tab.keyboard.press("Enter");
    await tab.getByRole("heading", { name: "rover" }).waitFor();
    assert.match(tab.url(), /\/logs$/);
    await tab.getByRole("button", { name: "Account" }).click();
    await tab.getByRole("button", { name: "Sign out" }).click();
    await tab.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.equal(await tab.evaluate("sessionStorage.length"), 0);
  },
);

consoleTest(
  import.meta.url,
  "who loses the key that a page was opened with is sent to sign in, and comes back to the same address",
  async (rig) => {
    const { app, made } = rig;
    const { id, key } = await app.createKey({
      name: "viewer",
      authorizations: [{
        authorizationType: "role",
        authorizationId: "organization_owner",
        resourceType: "organization",
        resourceId: made.org_id,
        organizationId: made.org_id,
        identityId: "",
        identityType: "api-key",
      }],
    });
    const opened = await rig.page();
    await opened.go("/?q=rov");
    const { page } = opened;
    const signIn = async (keyId: string, secret: string) => {
      await page.getByRole("button", { name: "API key" }).click();
      await page.getByLabel("Key id").fill(keyId);
      await page.getByLabel("Key", { exact: true }).fill(secret);
      await page.keyboard.press("Enter");
      await page.getByRole("link", { name: "rover" }).waitFor();
    };
    await signIn(id, key);
    await app.deleteKey({ id });
    await page.getByText("Your session has ended. Sign in again.").waitFor();
    await signIn(made.api_key_id, made.api_key);
    await page.waitForURL(/\?q=rov$/);
    opened.complaints.splice(0);
  },
);
