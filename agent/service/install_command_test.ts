import assert from "node:assert/strict";
import { runInstall, runUninstall } from "./install_command.ts";

const OPTIONS = {
  ...{ credentialsFile: "/etc/machine.json", defaultsFile: "/etc/machine-defaults.json" },
  ...{ dir: "/nowhere", root: undefined, devMode: false, program: "/nowhere/machine-agent" },
};
const FACTS = { os: "darwin", uid: 0, ownPath: undefined, stopMs: 1, say: () => {} };

Deno.test("runInstall() and runUninstall() say that there is no service on macOS", async () => {
  await assert.rejects(runInstall(OPTIONS, FACTS), /none on darwin; .* launchd/);
  await assert.rejects(runUninstall(OPTIONS, { purge: false }, FACTS), /none on darwin/);
});
