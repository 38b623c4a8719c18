// system_configuration on a host whose process 1 is systemd: limits of journald, forwarding of
// the journal, and upgrades with a real apt. Where there can be no such computer, it is skipped.
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { ignoreBecause, tellSkip } from "../../shared/test_tools/skips.ts";
import {
  DEADLINE_MS,
  type InstalledMachine,
  type Report,
  ROOT,
  withMachine,
  withVersions,
} from "./installed_machine.ts";
import { eventually } from "./rig.ts";
import { noSystemdBecause } from "./systemd_computer.ts";

const ignore = ignoreBecause(import.meta.url, noSystemdBecause());

const JOURNALD = "etc/systemd/journald.conf.d/90-machine.conf";
const PERIODIC = "etc/apt/apt.conf.d/20auto-upgrades";
const UPGRADES = "etc/apt/apt.conf.d/50unattended-upgrades";

function system(settings: JsonObject, advanced: JsonObject = {}): JsonObject {
  return { agent: { system_configuration: settings, advanced_settings: advanced } };
}

const partOf = (report: Report, name: "journald" | "upgrades" | "log_forwarding") =>
  (report as unknown as { system?: Record<string, { state: string; text: string }> })
    .system?.[name];

async function configure(machine: InstalledMachine, config: JsonObject): Promise<void> {
  await machine.rig.saveConfig({ ...machine.rig.defaultConfig(), ...withVersions(config) });
}

/** What the probe logged and the cloud has, in order of the numbers. */
async function forwarded({ rig }: InstalledMachine): Promise<number[]> {
  const app = (await rig.cloud()).client(AppService);
  const found: number[] = [];
  let pageToken: string | undefined;
  do {
    const page = { filter: "probe-", ...(pageToken === undefined ? {} : { pageToken }) };
    const answer = await app.getRobotPartLogs({ id: rig.partId, ...page });
    for (const { message, loggerName } of answer.logs) {
      const number = loggerName === "journald.probe"
        ? /^probe-(\d+)$/.exec(message)?.[1]
        : undefined;
      if (number !== undefined) found.push(Number(number));
    }
    pageToken = answer.nextPageToken;
  } while (pageToken);
  return found.sort((a, b) => a - b);
}

Deno.test({
  name: "journald keeps to its limits, and each line of the journal comes once, whatever is killed",
  ignore,
  fn: () => {
    const limits = {
      logging_journald_system_max_use_megabytes: 64,
      logging_journald_runtime_max_use_megabytes: 32,
    };
    const config = system({ ...limits, forward_system_logs: "probe, kernel,-noise" });
    return withMachine({ url: import.meta.url, config }, async (machine) => {
      const { computer } = machine;
      await machine.installFirst();
      await machine.reports(
        "both are applied",
        (report) =>
          partOf(report, "journald")?.state === "applied" &&
          partOf(report, "log_forwarding")?.state === "applied",
      );
      const merged = await computer.ask("systemd-analyze cat-config systemd/journald.conf");
      assert.match(merged, /^SystemMaxUse=64M$/m);
      assert.match(merged, /^RuntimeMaxUse=32M$/m);
      const said = await computer.ask("journalctl --no-pager -o cat -t systemd-journald");
      assert.match(said, /max 64\.0M/, "journald was started anew and says so");

      let next = 0;
      const log = async (count: number) => {
        const first = next;
        next += count;
        // One process, so that lines come within the same millisecond, too.
        await computer.ask(
          `seq -f 'probe-%g' ${first} ${
            next - 1
          } | systemd-cat -t probe; logger -t noise probe-9999`,
        );
      };
      const pid = async () => Number(await machine.show("MainPID"));
      for (let kill = 0; kill < 3; kill++) {
        await log(40);
        if (kill === 1) {
          await eventually(
            "some are in the cloud",
            async () => (await forwarded(machine)).length > 0,
          );
        }
        const before = await pid();
        await computer.ask(`kill -9 ${before}`);
        await log(40);
        await eventually(
          "the agent runs again",
          async () =>
            await pid() !== before && await pid() !== 0 &&
            await machine.show("ActiveState") === "active",
          DEADLINE_MS,
        );
      }
      await eventually(
        "journalctl is killed",
        async () => (await computer.run("pkill -9 -x journalctl")).code === 0,
        DEADLINE_MS,
      );
      await log(40);
      const all = Array.from({ length: next }, (_, n) => n);
      await eventually(
        "all lines are in the cloud",
        async () => (await forwarded(machine)).length >= all.length,
        DEADLINE_MS,
      );
      await computer.ask("journalctl --sync");
      assert.deepEqual(await forwarded(machine), all);

      await configure(machine, system({}, { disable_system_configuration: true }));
      await machine.reports(
        "it is left alone",
        (report) => partOf(report, "journald")?.text.includes("disable_system") === true,
      );
      assert.match(await Deno.readTextFile(computer.path(JOURNALD)), /SystemMaxUse=64M/);
      await computer.ask(`sh ${ROOT}install/uninstall.sh`);
      await assert.rejects(Deno.stat(computer.path(JOURNALD)), Deno.errors.NotFound);
    });
  },
});

Deno.test({
  name: "security upgrades are installed by apt's own program, and all is put back",
  ignore,
  fn: () => {
    const config = system({ os_auto_upgrade_type: "security" });
    return withMachine({ url: import.meta.url, config, packages: true }, async (machine) => {
      const { computer } = machine;
      const lists = await computer.run("apt-get update");
      if (lists.code !== 0) return tellSkip(import.meta.url, "Debian's packages are not reached");
      // What this host would upgrade is not the subject, and takes minutes.
      await Deno.writeTextFile(
        computer.path("etc/apt/apt.conf.d/99test"),
        'Unattended-Upgrade::Package-Blacklist { ".*"; };\n',
      );
      await machine.installFirst();
      const installed = await machine.reports(
        "upgrades are applied",
        (report) => partOf(report, "upgrades")?.state === "applied",
        3 * DEADLINE_MS,
      );
      assert.match(partOf(installed, "upgrades")?.text ?? "", /^security updates are installed/);
      assert.match(
        await Deno.readTextFile(computer.path(UPGRADES)),
        /"origin=Debian,codename=\w+-security,label=Debian-Security";/,
      );
      const dry = await computer.ask("unattended-upgrade --dry-run --verbose");
      assert.match(dry, /Allowed origins are: origin=Debian,codename=\w+-security/);
      assert.match(dry, /No packages found that can be upgraded unattended/);
      assert.match(
        await computer.ask("apt-config dump APT::Periodic::Unattended-Upgrade"),
        /"1"/,
      );

      const removed = await computer.ask(`sh ${ROOT}install/uninstall.sh`);
      assert.match(removed, /50unattended-upgrades is as it was before/);
      await assert.rejects(Deno.stat(computer.path(PERIODIC)), Deno.errors.NotFound);
      assert.match(
        await Deno.readTextFile(computer.path(UPGRADES)),
        /^\/\/ Unattended-Upgrade::Origins-Pattern/,
        "that of the package",
      );
    });
  },
});
