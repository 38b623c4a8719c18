import assert from "node:assert/strict";
import { parseRunOptions, programPath, RunUsageError } from "./options.ts";

const env = (values: Record<string, string>) => ({ get: (name: string) => values[name] });

Deno.test("parseRunOptions() takes the defaults when nothing is given", () => {
  assert.deepEqual(parseRunOptions([], env({}), "/repo"), {
    check: false,
    help: false,
    port: 8080,
    dataDir: "/repo/.machine",
    binaries: undefined,
  });
});

Deno.test("parseRunOptions() reads PORT, MACHINE_DEV_DIR, --check and --binaries", () => {
  const options = parseRunOptions(
    ["--check", "--binaries=dist"],
    env({ PORT: "9000", MACHINE_DEV_DIR: "/tmp/dev" }),
    "/repo",
  );
  assert.deepEqual(options, {
    check: true,
    help: false,
    port: 9000,
    dataDir: "/tmp/dev",
    binaries: "/repo/dist",
  });
  assert.equal(parseRunOptions(["--binaries", "out"], env({}), "/repo").binaries, "/repo/out");
});

Deno.test("parseRunOptions() says what is wrong when an option or a port is not usable", () => {
  const wrong: [string[], Record<string, string>, RegExp][] = [
    [["--chek"], {}, /unknown option --chek/],
    [["--check=yes"], {}, /unknown option --check=yes/],
    [["--binaries"], {}, /--binaries needs a folder/],
    [[], { PORT: "80a" }, /PORT is "80a"/],
    [[], { PORT: "65535" }, /PORT is "65535"/],
    [[], { PORT: "0" }, /PORT is "0"/],
  ];
  for (const [argv, values, message] of wrong) {
    assert.throws(() => parseRunOptions(argv, env(values), "/repo"), (error) => {
      assert.ok(error instanceof RunUsageError);
      assert.match(error.message, message);
      return true;
    });
  }
});

Deno.test("programPath() names the launcher, or the compiled program of this host", () => {
  const linux = { os: "linux", arch: "x86_64" };
  const windows = { os: "windows", arch: "x86_64" };
  assert.equal(
    programPath("machine-cloud", { binaries: undefined }, "/repo", linux),
    "/repo/bin/machine-cloud",
  );
  assert.equal(
    programPath("machine-agent", { binaries: "/d" }, "/repo", { os: "linux", arch: "aarch64" }),
    "/d/machine-agent-linux-arm64",
  );
  assert.equal(
    programPath("machine-server", { binaries: "/d" }, "/repo", windows),
    "/d/machine-server-windows-x64.exe",
  );
});
