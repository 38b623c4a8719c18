import assert from "node:assert/strict";
import { join } from "node:path";
import type { ProgramAnswer, RunProgram } from "../../../shared/base/process/run_program.ts";
import { KeptOriginals } from "../originals/kept_originals.ts";
import type { SystemOutcome } from "../outcomes/system_outcome.ts";
import { Apt } from "./apt.ts";
import { PERIODIC_FILE, UPGRADES_FILE } from "./apt_files.ts";
import { applyUpgrades } from "./os_upgrades.ts";

const POLICY = `Package files:
 100 /var/lib/dpkg/status
     release a=now
 500 http://deb.example.org/debian-security bookworm-security/main amd64 Packages
     release v=12,o=Debian,a=oldstable-security,n=bookworm-security,l=Debian-Security,c=main,b=amd64
     origin deb.example.org
 500 http://deb.example.org/debian bookworm/main amd64 Packages
     release v=12.15,o=Debian,a=oldstable,n=bookworm,l=Debian,c=main,b=amd64
     origin deb.example.org
Pinned packages:
`;
const EMPTY = "Package files:\n 100 /var/lib/dpkg/status\n     release a=now\nPinned packages:\n";

/** A computer with apt that does what the fields say. */
class AptComputer {
  isInstalled = false;
  hasApt = true;
  policy = POLICY;
  timers = "enabled";
  installs = true;
  readonly ran: string[] = [];
  readonly told: SystemOutcome[] = [];
  onInstall: () => Promise<void> = () => Promise.resolve();

  constructor(readonly root: string) {}

  readonly run: RunProgram = async (program, args) => {
    const line = [program, ...args].join(" ");
    this.ran.push(line);
    const answer = (code: number, stdout = "", stderr = ""): ProgramAnswer => ({
      code,
      stdout,
      stderr,
    });
    if (line.includes("apt-get --version")) return answer(this.hasApt ? 0 : 127);
    if (line.includes("dpkg-query")) {
      return this.isInstalled ? answer(0, "installed") : answer(1, "", "no package");
    }
    if (line.includes("apt-cache policy")) return answer(0, this.policy);
    if (line.includes("apt-config dump")) {
      return answer(0, 'Unattended-Upgrade::Mail "root";\n');
    }
    if (line.startsWith("systemd-run") && line.includes(" install ")) {
      if (!this.installs) return answer(100, "", "Reading…\nE: Could not get lock\n");
      await this.onInstall();
      this.isInstalled = true;
      return answer(0);
    }
    if (line.startsWith("systemd-run")) {
      this.policy = POLICY;
      return answer(0);
    }
    if (line.includes("is-enabled")) return answer(0, `${this.timers}\n`);
    if (line.startsWith("systemctl enable")) return answer(0);
    throw new Error(`unexpected: ${line}`);
  };

  get originals(): KeptOriginals {
    return new KeptOriginals(this.root, join(this.root, "opt"));
  }

  async apply(type: string): Promise<SystemOutcome> {
    const { originals, run } = this;
    const apt = new Apt(run, join(this.root, "opt/tmp"));
    const tell = (outcome: SystemOutcome) => void this.told.push(outcome);
    const { signal } = new AbortController();
    return await applyUpgrades({ originals, apt, run, tell }, type, signal);
  }

  async read(path: string): Promise<string | undefined> {
    return await Deno.readTextFile(join(this.root, path)).catch(() => undefined);
  }

  async write(path: string, text: string): Promise<void> {
    await Deno.writeTextFile(join(this.root, path), text);
  }
}

async function withComputer(test: (computer: AptComputer) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  await Deno.mkdir(join(root, "etc/apt/apt.conf.d"), { recursive: true });
  await Deno.mkdir(join(root, "opt/tmp"), { recursive: true });
  try {
    await test(new AptComputer(root));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("security installs the package, writes both files and can be put back", () =>
  withComputer(async (computer) => {
    computer.onInstall = async () => {
      await computer.write(PERIODIC_FILE, "of the package");
      await computer.write(UPGRADES_FILE, 'Unattended-Upgrade::Mail "root";');
    };
    const outcome = await computer.apply("security");
    assert.deepEqual(outcome, {
      state: "applied",
      text: "security updates are installed automatically, from 1 repository",
    });
    assert.deepEqual(computer.told.map(({ text }) => text), [
      "unattended-upgrades is being installed",
    ]);
    const text = await computer.read(UPGRADES_FILE) ?? "";
    assert.match(
      text,
      /{\n {2}"origin=Debian,codename=bookworm-security,label=Debian-Security";\n}/,
    );
    assert.match(text, /\nUnattended-Upgrade::Mail "root";\n$/);
    assert.match(await computer.read(PERIODIC_FILE) ?? "", /Unattended-Upgrade "1"/);

    assert.equal((await computer.apply("security")).state, "applied");
    assert.equal(await computer.read(UPGRADES_FILE), text, "the same again");

    assert.match((await computer.apply("all")).text, /all packages .* from 2 repositories/);
    assert.match((await computer.apply("disable")).text, /are off/);
    assert.match(await computer.read(PERIODIC_FILE) ?? "", /Unattended-Upgrade "0"/);
    await computer.originals.putBack(() => Promise.resolve());
    assert.equal(await computer.read(PERIODIC_FILE), undefined, "the package switched it on");
    assert.equal(await computer.read(UPGRADES_FILE), 'Unattended-Upgrade::Mail "root";');
  }));

const NOTHING: readonly [string, SystemOutcome["state"], RegExp][] = [
  ["", "untouched", /left as they are/],
  ["managed-all", "no-effect", /managed-all has no effect: .* use all, security or disable/],
  ["managed-security", "no-effect", /managed-security has no effect/],
];

for (const [type, state, text] of NOTHING) {
  Deno.test(`os_auto_upgrade_type ${JSON.stringify(type)} runs and writes nothing`, () =>
    withComputer(async (computer) => {
      const outcome = await computer.apply(type);
      assert.equal(outcome.state, state);
      assert.match(outcome.text, text);
      assert.deepEqual(computer.ran, []);
      assert.equal(await computer.read(PERIODIC_FILE), undefined);
    }));
}

Deno.test("without apt it has no effect, and says so", () =>
  withComputer(async (computer) => {
    computer.hasApt = false;
    for (const type of ["all", "disable"]) {
      const { state, text } = await computer.apply(type);
      assert.equal(state, "no-effect");
      assert.match(text, /it needs apt/);
    }
    assert.equal(await computer.read(PERIODIC_FILE), undefined);
  }));

Deno.test("an install that fails leaves the files and says why", () =>
  withComputer(async (computer) => {
    computer.installs = false;
    await assert.rejects(
      computer.apply("all"),
      /apt-get install failed with 100: E: Could not get lock/,
    );
    assert.equal(await computer.read(UPGRADES_FILE), undefined);
    computer.installs = true;
    assert.equal((await computer.apply("all")).state, "applied");
  }));

Deno.test("lists of packages that are missing are fetched first", () =>
  withComputer(async (computer) => {
    computer.isInstalled = true;
    computer.policy = EMPTY;
    assert.match((await computer.apply("all")).text, /from 2 repositories/);
    assert.ok(computer.ran.some((line) => line.startsWith("systemd-run") && / update$/.test(line)));
  }));

Deno.test("security without such a repository is told, and the files stay", () =>
  withComputer(async (computer) => {
    computer.isInstalled = true;
    computer.policy = POLICY.replaceAll("-security", "").replaceAll("-Security", "");
    await assert.rejects(computer.apply("security"), /no repository has security in its codename/);
    assert.equal(await computer.read(UPGRADES_FILE), undefined);
  }));

Deno.test("timers that were off are switched on, and off again when put back", () =>
  withComputer(async (computer) => {
    computer.isInstalled = true;
    computer.timers = "disabled";
    await computer.apply("all");
    assert.deepEqual(computer.ran.filter((line) => line.startsWith("systemctl enable")), [
      "systemctl enable --now apt-daily.timer",
      "systemctl enable --now apt-daily-upgrade.timer",
    ]);
    const off: string[] = [];
    await computer.originals.putBack((timer) => Promise.resolve(void off.push(timer)));
    assert.deepEqual(off, ["apt-daily.timer", "apt-daily-upgrade.timer"]);
    computer.timers = "masked";
    await assert.rejects(computer.apply("all"), /is masked.*systemctl unmask/);
  }));
