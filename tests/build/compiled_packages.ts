import assert from "node:assert/strict";
import { basename, join } from "node:path";
import type { PackageOptions } from "../../tools/release/packages/contents.ts";
import { makeDebianPackage } from "../../tools/release/packages/debian_package.ts";
import { makeRpmPackage } from "../../tools/release/packages/rpm_package.ts";
import { type Ran, SystemdComputer } from "../e2e/systemd_computer.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import type { Bootstrapped } from "../../tools/run/demo.ts";
import { credentialsFor, untilOnline } from "./compiled_cloud.ts";

const options = (version: string): PackageOptions => ({
  ...{ version, time: new Date(0), licence: "Apache-2.0\n", completions: {} },
});

/** A package manager, on a computer of a test. */
interface Manager {
  readonly make: typeof makeDebianPackage;
  readonly install: string;
  readonly remove: string;
  /** Whether {@link remove} takes state and credentials, too. */
  readonly purges: boolean;
  readonly prepare: (computer: SystemdComputer, dir: string) => Promise<void>;
}

export const MANAGERS = {
  Debian: {
    make: makeDebianPackage,
    install: "dpkg --force-confold --install",
    remove: "dpkg --purge",
    purges: true,
    prepare: () => Promise.resolve(),
  },
  RPM: {
    make: makeRpmPackage,
    // Debian's rpm asks for it.
    install: "rpm --force-debian --upgrade",
    remove: "rpm --force-debian --erase",
    purges: false,
    prepare: giveBasePackage,
  },
} as const satisfies Record<string, Manager>;

/** What a distribution with RPM has: one package in place of the many that have it there. */
async function giveBasePackage(computer: SystemdComputer, dir: string): Promise<void> {
  const provides = [
    ...["libc.so.6(GLIBC_2.34)(64bit)", "libc.so.6(GLIBC_2.27)(64bit)"],
    ...["libstdc++.so.6(GLIBCXX_3.4.29)(64bit)", "/bin/sh", "/usr/sbin/useradd", "systemd"],
  ];
  const spec = [
    ...["Name: base", "Version: 1", "Release: 1", "Summary: Base", "License: MIT"],
    ...provides.map((each) => `Provides: ${each}`),
    ...["%description", "Base", "%files", ""],
  ];
  await Deno.writeTextFile(join(dir, "base.spec"), spec.join("\n"));
  const { success, stderr } = await new Deno.Command("rpmbuild", {
    args: ["-bb", "--quiet", "--define", `_topdir ${dir}`, "--define", `_rpmdir ${dir}`]
      .concat("--define", "_rpmfilename base.rpm", join(dir, "base.spec")),
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  await Deno.copyFile(join(dir, "base.rpm"), computer.path("root/base.rpm"));
  await computer.ask("rpm --force-debian --install /root/base.rpm");
}

/**
 * Installs, upgrades, removes and purges the packages of compiled programs on a computer whose
 * process 1 is systemd.
 *
 * @param binaryOf path of a compiled program for this host
 */
export async function installPackages(
  binaryOf: (program: string) => string,
  dir: string,
  manager: Manager,
): Promise<void> {
  await using computer = await SystemdComputer.create({ packages: true });
  const put = async (program: string, version: string): Promise<string> => {
    const what = { program, platform: "linux/amd64", binary: binaryOf(program) };
    const made = await manager.make(what, dir, options(version));
    const path = `/root/${basename(made)}`;
    await Deno.rename(made, computer.path(path.slice(1)));
    return path;
  };
  const [cloudPort, serverPort] = [freePort(2), freePort(1)];
  const write = async (path: string, text: string): Promise<void> => {
    await Deno.mkdir(computer.path(join(path, "..")), { recursive: true });
    await Deno.writeTextFile(computer.path(path), text, { mode: 0o600 });
  };
  await write(
    "etc/default/machine-cloud",
    `MACHINE_CLOUD_OPTIONS="--listen 127.0.0.1:${cloudPort}"\n`,
  );
  await computer.boot();
  await manager.prepare(computer, dir);
  const tryInstall = (path: string): Promise<Ran> => computer.run(`${manager.install} ${path}`);
  const install = async (path: string): Promise<void> => {
    const { code, stdout, stderr } = await tryInstall(path);
    assert.equal(code, 0, stdout + stderr);
  };
  const remove = (program: string) => computer.ask(`${manager.remove} ${program}`);
  const isLeft = async (path: string) => (await computer.run(`test -e ${path}`)).code === 0;
  const answers = (port: number, path: string) =>
    computer.ask(
      `curl -sS --fail --retry 240 --retry-delay 1 --retry-all-errors http://127.0.0.1:${port}${path}`,
    );

  await install(await put("machine-cloud", "0.2.0"));
  assert.match(await answers(cloudPort, "/readyz"), /ok|ready/i);
  assert.match(await computer.ask("stat -c %U:%a /var/lib/machine-cloud"), /^machine-cloud:700$/);
  const before = await computer.ask("systemctl show -P MainPID machine-cloud");
  await install(await put("machine-cloud", "0.2.1"));
  assert.match(await answers(cloudPort, "/readyz"), /ok|ready/i);
  assert.notEqual(await computer.ask("systemctl show -P MainPID machine-cloud"), before);
  assert.match(await computer.ask("cat /etc/default/machine-cloud"), new RegExp(`:${cloudPort}`));

  await install(await put("machine-server", "0.2.0"));
  assert.equal((await computer.run("systemctl is-active machine-server")).stdout, "inactive\n");
  const config = { network: { bind_address: `127.0.0.1:${serverPort}` }, components: [] };
  await write("etc/machine.json", JSON.stringify(config));
  await computer.ask("systemctl start machine-server");
  await answers(serverPort, "/restart_status");
  const agent = await put("machine-agent", "0.2.0");
  const both = await tryInstall(agent);
  assert.notEqual(both.code, 0);
  assert.match(
    both.stdout + both.stderr,
    /machine-server.* conflicts with |conflicts with machine-server/,
  );
  await remove("machine-server");
  assert.equal(await isLeft("/var/lib/machine-server"), !manager.purges);
  assert.match((await computer.run("systemctl is-active machine-server")).stdout, /inactive/);

  // The agent brings the server from the file that the machine's configuration names.
  await Deno.copyFile(binaryOf("machine-server"), computer.path("root/machine-server"));
  const configuration = {
    network: { bind_address: `127.0.0.1:${serverPort}` },
    agent: { version_control: { "machine-server": "file:///root/machine-server" } },
  };
  await write("etc/configuration.json", JSON.stringify(configuration));
  await computer.ask("chmod 644 /etc/configuration.json");
  const bootstrap = "machine-cloud bootstrap --data /var/lib/machine-cloud --org o --location l " +
    "--machine m --config /etc/configuration.json";
  const asCloud = "setpriv --reuid machine-cloud --regid machine-cloud --clear-groups --";
  const made = JSON.parse(await computer.ask(`${asCloud} ${bootstrap}`)) as Bootstrapped;
  const cloudUrl = `http://127.0.0.1:${cloudPort}`;
  await write("etc/machine.json", JSON.stringify(credentialsFor(cloudUrl, made)));
  await install(agent);
  assert.equal(await computer.ask("systemctl is-active machine-agent"), "active");
  assert.equal(await computer.ask("systemctl is-enabled machine-agent"), "enabled");
  await untilOnline(cloudUrl, made).catch(async (error: Error) => {
    throw new Error(`${error.message}\n${(await computer.run("journalctl -n 60")).stdout}`);
  });
  await remove("machine-agent");
  const left = await computer.run("ls -d /opt/machine /etc/machine.json /usr/lib/machine-agent");
  assert.equal(left.stdout, manager.purges ? "" : "/etc/machine.json\n", "what is left of it");

  await remove("machine-cloud");
  assert.equal(await isLeft("/usr/bin/machine-cloud"), false);
  await computer.ask("test -e /var/lib/machine-cloud/cloud.db");
}
