/** How a machine fares: a real machine-server with a module, looked at from the browser. */
import { timestampNow } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { AgentService } from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { ConsoleRig, consoleTest } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";
import { startMachine, WAIT } from "./machine_rig.ts";

const PLAIN = fileURLToPath(new URL("../modules/plain.ts", import.meta.url));

Deno.test({
  name: "load over time comes from the machine, and a module is restarted",
  ignore: ignoreWithout(import.meta.url, "chromium"),
  async fn() {
    await using rig = await ConsoleRig.open();
    const { made } = rig;
    const program = join(rig.dataDir, "plain.sh");
    const started = join(rig.dataDir, "started");
    await Deno.writeTextFile(
      program,
      `#!/bin/sh\necho $$ >> '${started}'\n` +
        `exec '${Deno.execPath()}' run -A --quiet --no-check '${PLAIN}' "$@"\n`,
      { mode: 0o755 },
    );
    await using _machine = await startMachine(rig, {
      modules: [
        { type: "local", name: "plain", executable_path: program },
        { type: "local", name: "broken", executable_path: join(rig.dataDir, "none.sh") },
      ],
      components: [{ name: "s", api: "rdk:component:sensor", model: "rdk:builtin:fake" }],
    });
    const starts = async () => (await Deno.readTextFile(started)).trim().split("\n").length;
    const opened = await rig.signedIn(`/machines/${made.machine_id}/health`);
    const { page } = opened;
    await page.getByRole("img", { name: /^CPU: [\d.]+ % to/ }).waitFor();
    await page.getByRole("img", { name: /^Memory used: [\d.]+ [MG]B/ }).waitFor();
    await page.getByRole("img", { name: /^Memory of machine-server: / }).waitFor();
    await page.getByRole("row", { name: /^broken .*none\.sh.* unhealthy/ }).waitFor();
    await page.getByRole("row", { name: /^plain runs/ }).waitFor();
    await opened.inspect("machine-health");

    const before = await starts();
    await page.getByRole("button", { name: "Restart plain" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("are not available until it runs again").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await starts(), before);
    await page.getByRole("button", { name: "Restart plain" }).click();
    await dialog.getByRole("button", { name: "Restart", exact: true }).click();
    await page.getByText("plain was started again.").waitFor();
    assert.equal(await starts(), before + 1);

    await page.getByLabel("Time range").selectOption("week");
    await waitFor(() => page.url().includes("range=week"), WAIT);
    await page.getByRole("img", { name: /^CPU: / }).waitFor();

    // An operator sees all of it, and restarts nothing.
    const { id, key } = await rig.app.createKey({
      name: "operator",
      authorizations: [{
        authorizationId: "robot_operator",
        ...{ resourceType: "robot", resourceId: made.machine_id },
      }],
    });
    const theirs = await rig.page();
    await theirs.keepKey(await rig.tokenFor("api-key", id, key), id);
    await theirs.go(`/machines/${made.machine_id}/health`);
    await theirs.page.getByText("Owners of the machine may restart modules.").waitFor();
    await theirs.page.getByRole("img", { name: /^CPU: / }).waitFor();
    assert.equal(await theirs.page.getByRole("button", { name: /^Restart/ }).count(), 0);
  },
});

consoleTest(
  import.meta.url,
  "versions so far stand there with rollbacks, also of an offline machine",
  async (rig) => {
    const { made } = rig;
    const agent = rig.part(AgentService);
    const report = (installed: string, reason?: string) =>
      agent.reportAgentStatus({
        partId: made.part_id,
        status: {
          server: {
            installed,
            ...(reason !== undefined && {
              lastRollback: { from: HOSTILE[1]!, to: installed, reason, at: timestampNow() },
            }),
          },
        },
      });
    await report("1.0.0");
    const opened = await rig.signedIn(`/machines/${made.machine_id}/health`);
    const { page } = opened;
    await page.getByText("1.0.0, the first one known").waitFor();
    await page.getByText("This machine has no modules.").waitFor();
    await report(HOSTILE[1]!);
    await report("1.0.0", HOSTILE[0]!);
    await page.getByText("rolled back", { exact: true }).waitFor();
    await page.getByRole("cell", { name: "onerror=" }).waitFor();
    await page.getByText("The machine is offline", { exact: true }).waitFor();
    await opened.inspect("machine-health-offline");
  },
);
