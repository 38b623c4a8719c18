/** Releases in a browser: uploaded, rolled out, paused, stopped, withdrawn; and who may only look. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  AgentService,
  ProgramStatus_State,
  ReleaseService,
  Rollout_State,
} from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { type ConsoleRig, consoleTest } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";

const BINARY = "machine-server";

/** Says what the first machine's server runs, as its agent does. */
async function report(
  rig: ConsoleRig,
  server: { installed: string; target?: string; state: ProgramStatus_State; reason?: string },
): Promise<void> {
  const { installed, target = installed, state, reason } = server;
  await rig.part(AgentService).reportAgentStatus({
    partId: rig.made.part_id,
    status: {
      platform: "linux/amd64",
      server: {
        ...{ installed, target, running: installed, state },
        ...(reason === undefined ? {} : { bad: [{ version: target, reason }] }),
      },
    },
  });
}

consoleTest(
  import.meta.url,
  "a release is uploaded, rolled out, stops by itself, goes on, to all, and is withdrawn",
  async (rig) => {
    const api = rig.client(ReleaseService);
    const find = async (version: string) =>
      (await api.listReleases({})).releases.find((release) => release.version === version);
    const opened = await rig.signedIn("/releases");
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    const press = (name: string) => dialog.getByRole("button", { name, exact: true }).click();
    await page.getByText("No releases yet").waitFor();
    await page.getByText("No machine has reported its version").waitFor();

    const add = async (version: string, size: number) => {
      await dialog.waitFor({ state: "hidden" });
      await page.getByRole("button", { name: "Add release" }).click();
      await dialog.getByLabel("File of the program").setInputFiles({
        name: `machine-server-${version}-linux-x64`,
        mimeType: "application/octet-stream",
        buffer: elf(size),
      });
      // Read from the file's name and its first bytes.
      await waitFor(
        async () => await dialog.getByLabel("Version").inputValue() === version,
        { deadlineMs: 60_000, what: "the version is guessed" },
      );
    };
    await add("1.0.0", 1_000);
    assert.equal(await dialog.getByLabel("Platform").inputValue(), "linux/amd64");
    await press("Add release");
    await page.getByText(`${BINARY} 1.0.0 is added.`).waitFor();
    assert.equal((await find("1.0.0"))?.rollout, undefined);

    // A file in several pieces, which goes to some machines first; its notes are anybody's.
    await add("1.1.0", 900_000);
    await dialog.getByLabel("Notes").fill(HOSTILE.join(" ").slice(0, 9_000));
    await dialog.getByLabel("Who gets it").selectOption("some");
    await dialog.getByLabel("Percent of the machines").fill("100");
    await dialog.getByLabel("And those with one of the tags").fill("canary, lab");
    await opened.inspect("releases-add");
    await press("Add release");
    const card = page.getByRole("region", { name: `${BINARY} 1.1.0` });
    await card.getByText("0 rolled back").waitFor();
    const made = await find("1.1.0");
    assert.deepEqual(made?.rollout?.tags, ["canary", "lab"]);
    assert.equal(made?.files[0]?.size, 900_000n);

    // What cannot be added is refused before it is sent, or with the reason.
    await add("1.1.0", 100);
    await dialog.getByText("has a file for linux/amd64 already").waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Add release", exact: true }).isDisabled());
    await dialog.getByLabel("Platform").selectOption("linux/arm64");
    await press("Add release");
    await dialog.getByText("is no whole program for linux/arm64").waitFor();
    await press("Cancel");

    // It reaches a machine, whose trial fails: the rollout stops automatically.
    await rig.part(RobotService).config({
      ...{ id: rig.made.part_id, agentInfo: { version: "1.0.0", os: "linux" } },
    });
    const runs = page.getByRole("region", { name: "Who runs what" });
    await runs.getByRole("listitem").filter({ hasText: "1.0.0" }).getByText("1 machine").waitFor();
    await report(rig, { installed: "1.0.0", state: ProgramStatus_State.IDLE });
    await report(rig, {
      ...{ installed: "1.0.0", target: "1.1.0", state: ProgramStatus_State.REFUSED },
      reason: HOSTILE[0] ?? "",
    });
    await card.getByText("stopped", { exact: true }).waitFor();
    await card.getByText("1 rolled back").waitFor();
    await card.getByText(HOSTILE[0] ?? "").waitFor();
    await opened.inspect("releases");
    await card.getByRole("button", { name: "Resume" }).click();
    await card.getByText("running", { exact: true }).waitFor();
    await card.getByRole("button", { name: "Pause" }).click();
    await card.getByText("paused", { exact: true }).waitFor();
    assert.equal((await find("1.1.0"))?.rollout?.state, Rollout_State.PAUSED);

    await page.getByRole("button", { name: `Change ${BINARY} 1.1.0` }).click();
    await dialog.getByLabel("Percent of the machines").fill("50");
    await dialog.getByLabel("And those with one of the tags").fill("");
    await opened.inspect("releases-change");
    await press("Save");
    await card.getByText("paused at 50 % of the machines").waitFor();
    await card.getByRole("button", { name: "To everybody" }).click();
    await press("To everybody");
    await card.waitFor({ state: "detached" });
    assert.equal((await find("1.1.0"))?.rollout, undefined);

    await page.getByRole("button", { name: `Withdraw ${BINARY} 1.1.0` }).click();
    await dialog.getByLabel("go back to the release before").check();
    await press("Withdraw");
    await page.getByText("withdrawn; machines go back").waitFor();
    assert.equal((await find("1.1.0"))?.goesBack, true);
    await page.getByRole("button", { name: `Delete ${BINARY} 1.1.0` }).click();
    await dialog.getByLabel("Type “1.1.0”").fill("1.1.0");
    await press("Delete");
    await page.getByText(`${BINARY} 1.1.0 is deleted.`).waitFor();
    assert.equal(await find("1.1.0"), undefined);
    assert.equal(await page.evaluate("window.hacked ?? 'no'"), "no");

    // Who does not keep the releases sees them, and nothing to press.
    const { id, key } = await rig.viewer();
    const viewer = await rig.signedInBy(id, key, "/releases");
    await viewer.page.getByText(`${BINARY} 1.0.0`, { exact: true }).waitFor();
    assert.equal(await viewer.page.getByRole("main").getByRole("button").count(), 0);
    await viewer.inspect("releases-viewer");
    assert.match(viewer.complaints.splice(0).join("\n"), /^[^\n]*403[^\n]*ListRollouts$/);
  },
);

/** A program for Linux on amd64, as far as its header shows. */
function elf(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.set([0x7f, 0x45, 0x4c, 0x46]);
  bytes[18] = 62;
  return bytes;
}
