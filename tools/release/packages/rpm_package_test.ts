import assert from "node:assert/strict";
import { join } from "node:path";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import type { PackageOptions } from "./contents.ts";
import { makeRpmPackage } from "./rpm_package.ts";

const OPTIONS: PackageOptions = {
  version: "1.2.3-rc.1",
  time: new Date(1_000_000_000_000),
  licence: "Apache-2.0\n",
  completions: { bash: "complete\n", zsh: "compdef\n", fish: "complete\n" },
};
const ignore = ignoreWithout(import.meta.url, "rpm");

async function inFolder(
  work: (make: (program: string, platform?: string) => Promise<string>) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    const binary = "/bin/true"; // rpmlint wants a program.
    await work((program, platform = "linux/amd64") =>
      makeRpmPackage({ program, platform, binary }, join(dir, "out"), OPTIONS)
    );
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function ask(command: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args }).output();
  const text = new TextDecoder().decode(stdout);
  assert.ok(success, `${command}: ${text}${new TextDecoder().decode(stderr)}`);
  return text;
}

Deno.test({
  name: "makeRpmPackage() gives name, needs, files and scriptlets, for each processor",
  ignore,
  fn: () =>
    inFolder(async (make) => {
      const file = await make("machine-cloud", "linux/arm64");
      assert.match(file, /\/machine-cloud-1\.2\.3~rc\.1-1\.aarch64\.rpm$/);
      const format = "%{name} %{version} %{arch} %{buildhost} %{license} %{buildtime}";
      assert.equal(
        await ask("rpm", "-qp", "--queryformat", format, file),
        "machine-cloud 1.2.3~rc.1 aarch64 localhost Apache-2.0 1000000000",
      );
      const requires = await ask("rpm", "-qp", "--requires", file);
      for (const each of ["libstdc++.so.6(GLIBCXX_3.4.29)(64bit)", "/usr/sbin/useradd"]) {
        assert.ok(requires.includes(each), requires);
      }
      const listed = await ask(
        "rpm",
        "-qp",
        "--queryformat",
        "[%{filemodes:perms} %{filenames}\n]",
        file,
      );
      assert.match(listed, /^-rwxr-xr-x \/usr\/bin\/machine-cloud$/m);
      assert.match(listed, /^-rw------- \/etc\/default\/machine-cloud$/m);
      assert.match(listed, /^-rw-r--r-- \/usr\/lib\/systemd\/system\/machine-cloud\.service$/m);
      assert.equal((await ask("rpm", "-qpc", file)).trim(), "/etc/default/machine-cloud");
      const scripts = await ask("rpm", "-qp", "--scripts", file);
      assert.match(scripts, /postinstall scriptlet.*\nset -e\nif \[ "\$1" -gt 1 \]/);
      assert.match(scripts, /preuninstall scriptlet.*\nset -e\n\[ "\$1" = 0 \] \|\| exit 0/);
      const completions = await ask("rpm", "-qpl", await make("machine"));
      assert.match(completions, /^\/usr\/share\/zsh\/site-functions\/_machine$/m);
    }),
});

Deno.test({
  name: "makeRpmPackage() gives the same bytes for the same content",
  ignore,
  fn: () =>
    inFolder(async (make) => {
      const first = await Deno.readFile(await make("machine-server"));
      assert.deepEqual(await Deno.readFile(await make("machine-server")), first);
    }),
});

/** What is so on purpose: signatures are minisign's, options can hold passwords. */
const ACCEPTED = /no-signature|non-readable \/etc\/default\/|spelling-error/;

Deno.test({
  name: "rpmlint finds no error in RPM packages",
  ignore: ignoreWithout(import.meta.url, "rpm", "rpmlint"),
  fn: () =>
    inFolder(async (make) => {
      const files = [];
      for (const program of ["machine-server", "machine-agent", "machine-cloud", "machine"]) {
        files.push(await make(program));
      }
      const { stdout } = await new Deno.Command("rpmlint", { args: files }).output();
      const lines = new TextDecoder().decode(stdout).split("\n");
      assert.ok(lines.some((line) => /4 packages and 0 specfiles checked/.test(line)), `${lines}`);
      assert.deepEqual(lines.filter((line) => / E: /.test(line) && !ACCEPTED.test(line)), []);
    }),
});
