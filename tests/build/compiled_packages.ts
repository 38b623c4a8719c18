import assert from "node:assert/strict";
import { join } from "node:path";
import {
  type DebianOptions,
  makeDebianPackage,
} from "../../tools/release/debian/debian_packages.ts";
import { SystemdComputer } from "../e2e/systemd_computer.ts";
import { freePort } from "../ports/free_port.ts";

const options = (version: string): DebianOptions => ({
  ...{ version, time: new Date(0), licence: "Apache-2.0\n", completions: {} },
});

/**
 * Installs, upgrades, removes and purges the Debian packages of compiled programs on a computer
 * whose process 1 is systemd.
 *
 * @param binaryOf path of a compiled program for this host
 */
export async function installPackages(
  binaryOf: (program: string) => string,
  dir: string,
): Promise<void> {
  await using computer = await SystemdComputer.create({ packages: true });
  const put = async (program: string, version: string): Promise<string> => {
    const what = { program, platform: "linux/amd64", binary: binaryOf(program) };
    const made = await makeDebianPackage(what, dir, options(version));
    const path = `/root/${program}_${version}.deb`;
    await Deno.copyFile(made, computer.path(path.slice(1)));
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
  const dpkg = (...args: string[]) => computer.run(`dpkg --force-confold ${args.join(" ")}`);
  const install = async (path: string): Promise<void> => {
    const { code, stdout, stderr } = await dpkg("--install", path);
    assert.equal(code, 0, stdout + stderr);
  };
  const answers = (port: number, path: string) =>
    computer.ask(
      `curl -sS --fail --retry 60 --retry-delay 1 --retry-all-errors http://127.0.0.1:${port}${path}`,
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
  const both = await dpkg("--install", await put("machine-agent", "0.2.0"));
  assert.match(both.stdout + both.stderr, /conflicts with machine-server/i);
  assert.equal((await dpkg("--purge", "machine-server")).code, 0);
  assert.equal((await computer.run("test -e /var/lib/machine-server")).code, 1);
  assert.match((await computer.run("systemctl is-active machine-server")).stdout, /inactive/);

  const bootstrap =
    "machine-cloud bootstrap --data /var/lib/machine-cloud --org o --location l --machine m";
  const asCloud = "setpriv --reuid machine-cloud --regid machine-cloud --clear-groups --";
  const made = JSON.parse(await computer.ask(`${asCloud} ${bootstrap}`)) as Record<string, string>;
  const { part_id: id, part_secret: secret } = made;
  const credentials = { cloud: { app_address: `http://127.0.0.1:${cloudPort}`, id, secret } };
  await write("etc/machine.json", JSON.stringify(credentials));
  await install("/root/machine-agent_0.2.0.deb");
  assert.equal(await computer.ask("systemctl is-active machine-agent"), "active");
  assert.equal(await computer.ask("systemctl is-enabled machine-agent"), "enabled");
  assert.equal((await dpkg("--purge", "machine-agent")).code, 0);
  const left = await computer.run("ls -d /opt/machine /etc/machine.json /usr/lib/machine-agent");
  assert.equal(left.stdout, "", "nothing is left of the agent");

  assert.equal((await dpkg("--purge", "machine-cloud")).code, 0);
  assert.equal((await computer.run("test -e /usr/bin/machine-cloud")).code, 1);
  await computer.ask("test -e /var/lib/machine-cloud/cloud.db");
}
