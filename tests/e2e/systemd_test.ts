// install.sh, updates, rollbacks, a power cut and uninstall.sh on a host whose process 1 is
// systemd. The programs run from the sources. Where there can be no such computer, it is skipped.
import assert from "node:assert/strict";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import {
  AGENT,
  DEADLINE_MS,
  DROP_IN,
  override,
  ROOT,
  sources,
  UNIT,
  withMachine,
} from "./installed_machine.ts";
import { eventually } from "./rig.ts";
import { noSystemdBecause } from "./systemd_computer.ts";

const OWN_FOLDERS = ["root/opt", "root/etc/systemd", "local"];

const ignore = ignoreBecause(import.meta.url, noSystemdBecause());

Deno.test({
  name: "under systemd a machine is installed, watched, updated, taken back and removed",
  ignore,
  fn: () =>
    withMachine({ url: import.meta.url }, async (machine) => {
      const { computer } = machine;
      const before = await computer.files(OWN_FOLDERS);
      const said = await machine.installFirst();
      assert.match(said, /the service runs/);
      assert.equal(
        await machine.show("ActiveState"),
        "active",
        "install.sh waits until it is ready",
      );
      assert.equal(await computer.ask(`systemctl is-enabled ${UNIT}`), "enabled");
      await machine.trusts("server", "1.0.0");
      assert.match(await machine.show("StatusText"), /machine-server 1\.0\.0 is running/);
      assert.match(await machine.journal(), /machine-agent starts/);
      await eventually(
        "what the machine runs may mount",
        async () => (await computer.run("grep -q ' /mnt ' /proc/*/mounts")).code === 0,
      );

      const guest = (command: string) => computer.run(command, {}, "guest");
      assert.equal((await guest(`test -x ${AGENT}`)).code, 0, "everybody may run the program");
      for (const file of ["agent.db", "status.json", "agent-logs.db"]) {
        assert.match((await guest(`cat /opt/machine/${file}`)).stderr, /Permission denied/);
      }

      const frozen = await machine.show("MainPID");
      await computer.ask(`kill -STOP ${frozen}`);
      await eventually("the watchdog has it started anew", async () => {
        const pid = await machine.show("MainPID");
        const state = await machine.show("ActiveState");
        if (pid !== frozen && state === "active") return true;
        throw new Error(`${pid} (${frozen} before) is ${state}:\n${await machine.journal()}`);
      }, 3 * DEADLINE_MS);
      await machine.reports("the server runs again", ({ server }) => server["running"] === "1.0.0");

      assert.match(await machine.install(), /the service runs/);
      assert.equal(await Deno.readTextFile(computer.path(DROP_IN)), override(computer.searchPath));

      // Twice at most: a host that stands still makes the watchdog restart it, too.
      let current = "";
      for (const version of ["2.0.0", "2.0.1"]) {
        const restarts = await machine.restarts();
        const program = await machine.program(`agent-${version}`, sources("machine-agent"));
        await machine.release("machine-agent", version, program);
        await machine.trusts("agent", version);
        current = version;
        if (await machine.restarts() === restarts) break;
        const log = await machine.journal();
        assert.notEqual(version, "2.0.1", `it does not have itself started at once:\n${log}`);
      }

      const script = "#!/bin/sh\nexit 1\n";
      await Deno.writeTextFile(computer.path("root/broken.sh"), script, { mode: 0o755 });
      const broken = await machine.program("agent-broken", "/root/broken.sh");
      await machine.release("machine-agent", "2.1.0", broken);
      const back = await machine.reports(
        "2.1.0 is taken back",
        ({ agent }) => (agent["last_rollback"] as { from?: string } | null)?.from === "2.1.0",
      );
      assert.equal(back.agent["installed"], current);
      assert.match(await machine.journal(), /machine-agent-guard: .*3 times.*; back to/);

      const removed = await computer.ask(`sh ${ROOT}install/uninstall.sh`);
      assert.match(removed, /machine\.json stays/);
      assert.deepEqual(await computer.files(OWN_FOLDERS), before);
      // systemd may keep the name of a unit that is gone in its list.
      await eventually("no unit is left", async () => {
        const units = await computer.ask("systemctl list-units --all --no-legend 'machine-agent*'");
        if (units.replaceAll(/^.* not-found +inactive +dead .*$/gm, "").trim() !== "") {
          throw new Error(units);
        }
        return true;
      });
      const left = await computer.run("ps -eo args | grep '[m]achine-\\(agent\\|server\\)'");
      assert.equal(left.stdout, "");
    }),
});

Deno.test({
  name:
    "under systemd a machine comes back from power cuts in updates, and when it is switched off",
  ignore,
  fn: () =>
    withMachine({ url: import.meta.url }, async (machine) => {
      const { computer } = machine;
      await machine.installFirst();
      await machine.trusts("server", "1.0.0");

      const server = await machine.program("server-2", sources("machine-server"));
      await machine.release("machine-server", "1.1.0", server);
      await machine.reports("1.1.0 is on trial", ({ server }) => server["state"] === "trial");
      await computer.cutPower();
      await computer.boot();
      await machine.trusts("server", "1.1.0");

      const link = computer.path(AGENT);
      const old = await Deno.readLink(link);
      const agent = await machine.program("agent-2", sources("machine-agent"));
      await machine.release("machine-agent", "2.0.0", agent);
      const isTurned = async () => await Deno.readLink(link) !== old;
      await eventually("the link leads to another agent", isTurned, DEADLINE_MS);
      await computer.cutPower();
      await computer.boot();
      const { server: served } = await machine.trusts("agent", "2.0.0");
      assert.equal(served["installed"], "1.1.0");

      await computer.powerOff();
      await computer.boot();
      await machine.reports("all runs again", ({ server }) => server["running"] === "1.1.0");
      assert.equal(await machine.show("ActiveState"), "active");
      assert.match(await machine.journal(), /machine-agent stopped/);
    }),
});
