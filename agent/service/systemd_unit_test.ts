import assert from "node:assert/strict";
import { join } from "node:path";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { SERVICE, systemdUnit } from "./systemd_unit.ts";

const options = {
  dir: "/opt/machine",
  credentialsFile: "/etc/machine.json",
  defaultsFile: "/etc/machine-defaults.json",
  stopMs: 80_000,
};

const setting = (unit: string, name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1];

Deno.test("systemdUnit() starts the guard, then the agent with its paths", () => {
  const unit = systemdUnit(options);
  assert.equal(setting(unit, "ExecStartPre"), "-/opt/machine/bin/machine-agent-guard");
  assert.equal(
    setting(unit, "ExecStart"),
    "/opt/machine/bin/machine-agent --config /etc/machine.json " +
      "--defaults /etc/machine-defaults.json --dir /opt/machine",
  );
});

Deno.test("systemdUnit() brings the agent back and gives it time to end the server", () => {
  const unit = systemdUnit(options);
  assert.equal(setting(unit, "Type"), "notify");
  assert.equal(setting(unit, "Restart"), "always");
  assert.equal(setting(unit, "StartLimitIntervalSec"), "0");
  assert.equal(setting(unit, "KillMode"), "mixed");
  assert(Number(setting(unit, "WatchdogSec")) > 0);
  assert(Number(setting(unit, "TimeoutStopSec")) > 80);
});

Deno.test("systemdUnit() sets nothing that modules below it may need", () => {
  const lines = systemdUnit(options).split("\n").filter((line) => !line.startsWith("#"));
  const forbidden =
    /^(NoNewPrivileges|Private\w+|Protect\w+|Restrict\w+|SystemCall\w+|CapabilityBoundingSet|Device\w+|MemoryDeny\w+|ReadOnly\w+|User)=/;
  assert.deepEqual(lines.filter((line) => forbidden.test(line)), []);
});

Deno.test("systemdUnit() refuses paths that a unit cannot hold and quotes the others", () => {
  assert.throws(() => systemdUnit({ ...options, dir: "/opt/a\nExecStart=/evil" }), /cannot stand/);
  const unit = systemdUnit({ ...options, dir: "/opt/my machine/50%/$HOME" });
  assert.match(setting(unit, "ExecStart") ?? "", /--dir "\/opt\/my machine\/50%%\/\$\$HOME"$/);
});

const ignore = ignoreWithout(import.meta.url, "systemd-analyze");

for (const name of ["machine", "my machine"]) {
  Deno.test({
    name: `systemdUnit() satisfies systemd-analyze verify with the folder "${name}"`,
    ignore,
    fn: async () => {
      const root = await Deno.makeTempDir();
      try {
        const dir = join(root, name);
        await Deno.mkdir(join(dir, "bin"), { recursive: true });
        for (const program of ["machine-agent", "machine-agent-guard"]) {
          await Deno.writeTextFile(join(dir, "bin", program), "#!/bin/sh\n", { mode: 0o755 });
        }
        const unit = join(root, SERVICE);
        await Deno.writeTextFile(unit, systemdUnit({ ...options, dir }));
        const { code, stderr } = await new Deno.Command("systemd-analyze", {
          args: ["verify", "--man=no", unit],
        }).output();
        const said = new TextDecoder().decode(stderr).split("\n").filter((line) =>
          line.includes("machine-agent")
        );
        assert.deepEqual(said, []);
        assert.equal(code, 0);
      } finally {
        await Deno.remove(root, { recursive: true });
      }
    },
  });
}
