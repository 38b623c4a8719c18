/** Adding a machine, in a browser. */
import assert from "node:assert/strict";
import { MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { consoleTest } from "./console_rig.ts";

consoleTest(
  import.meta.url,
  "a machine is added by the keyboard, with one line to copy, and is seen to come online",
  async (rig) => {
    const opened = await rig.signedIn("/");
    const { page } = opened;
    await page.getByRole("link", { name: "New machine" }).press("Enter");
    await page.getByLabel("Name", { exact: true }).waitFor();
    await opened.inspect("new-machine-name");
    await page.keyboard.type("rover");
    await page.keyboard.press("Enter");
    await page.getByText("Another one here is named").waitFor();
    opened.complaints.splice(0);
    await page.getByLabel("Name", { exact: true }).fill("digger");
    await page.getByLabel("Location").selectOption("new");
    await page.getByLabel("Name of the location").fill("Quarry");
    await page.keyboard.press("Enter");
    await page.getByText("Waiting for digger").waitFor();
    const line = await page.getByText(/^curl -fsSL/).innerText();
    await page.getByText("no stable release of machine-agent for Linux").waitFor();
    await page.getByText("leads to this cloud on its own host only").waitFor();
    await opened.inspect("new-machine-linux");
    await page.getByRole("button", { name: "With a phone" }).click();
    await page.getByRole("img", { name: "credentials" }).waitFor();
    await page.getByText("By Bluetooth instead").waitFor();
    await opened.inspect("new-machine-phone");
    await page.getByRole("button", { name: "Windows PowerShell" }).click();
    await page.getByText("$env:MACHINE_PART_ID").waitFor();

    // The line's key opens the credentials file, as the installer fetches it.
    const value = (name: string) => new RegExp(`${name}=(\\S+)`).exec(line)?.[1] ?? "";
    const answer = await fetch(
      `${rig.cloud.url}/api/json1/config?id=${value("MACHINE_PART_ID")}`,
      { headers: { key_id: value("MACHINE_API_KEY_ID"), key: value("MACHINE_API_KEY") } },
    );
    const { cloud } = await answer.json() as { cloud: { id: string; secret: string } };
    assert.equal(cloud.id, value("MACHINE_PART_ID"));
    const machine = await rig.as("robot-secret", cloud.id, cloud.secret, MachineService);
    await machine.watch({ partId: cloud.id })[Symbol.asyncIterator]().next();
    await page.getByText("digger is online.").waitFor();
    await page.getByRole("link", { name: "Open its page" }).click();
    await page.getByRole("heading", { name: "digger" }).waitFor();
  },
);
