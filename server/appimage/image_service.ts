/** The service of systemd that runs an installed image. */
import { dirname, join } from "node:path";
import { removeIfExists, writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import { AppImageError, type ImageHost } from "./image_facts.ts";

const SERVICE = "machine-server.service";
/** Where the image goes. */
export const INSTALLED = "/usr/local/bin/machine-server";
export const CREDENTIALS = "/etc/machine.json";
export const STATE = "/var/lib/machine-server";
/** Where the runtime of the image unpacks it for root. */
export const CACHE = "/var/cache/machine-server";
/** Options for the server, and where updates come from. */
export const SETTINGS = "/etc/default/machine-server";

const UNIT = `/etc/systemd/system/${SERVICE}`;
const MADE_BY = "# Made by machine-server --aix-install, which writes it again.";
const AGENT = "machine-agent.service";

const UNIT_TEXT = `${MADE_BY}
# Put changes into drop-ins: systemctl edit machine-server
[Unit]
Description=machine-server: runs this machine's resources
After=network.target
ConditionPathExists=${CREDENTIALS}
StartLimitIntervalSec=0

[Service]
EnvironmentFile=-${SETTINGS}
Environment=MACHINE_HOME=${STATE}
ExecStart=${INSTALLED} -config ${CREDENTIALS} $MACHINE_SERVER_OPTIONS
StateDirectory=machine-server
StateDirectoryMode=0700
CacheDirectory=machine-server
Restart=always
RestartSec=5
# It ends within 60 s.
TimeoutStopSec=80
KillMode=mixed
LimitNOFILE=65536
LimitCORE=0

[Install]
WantedBy=multi-user.target
`;

/** @throws {AppImageError} when there is no systemd, or another service has the name */
export async function requireFreeName(host: ImageHost): Promise<void> {
  const { run, root } = host;
  // systemctl alone can be there without systemd as process 1, in containers for example.
  const runs = await Deno.stat(join(root, "run/systemd/system")).then(() => true, () => false);
  if (!runs || (await run("systemctl", ["--version"])).code !== 0) {
    throw new AppImageError(
      "this host is not run by systemd; let your service manager start the image with " +
        `-config ${CREDENTIALS}`,
    );
  }
  const own = await readIfExists(join(root, UNIT));
  if (own !== undefined && !own.startsWith(MADE_BY)) {
    throw new AppImageError(`there is a service of that name already, ${UNIT}; remove it first`);
  }
  const other = await unitFile(host, SERVICE);
  if (own === undefined && other !== "") {
    throw new AppImageError(
      `there is a service of that name already, ${other}; remove it first, or the package that ` +
        "brought it",
    );
  }
  const agent = await unitFile(host, AGENT);
  if (agent !== "") {
    throw new AppImageError(
      `machine-agent is installed (${agent}) and runs a machine-server of its own; uninstall it first`,
    );
  }
}

async function unitFile({ run }: ImageHost, unit: string): Promise<string> {
  return (await run("systemctl", ["show", "-P", "FragmentPath", unit])).stdout.trim();
}

/** Writes the unit, and has it start with the host when it is new. */
export async function writeService(host: ImageHost): Promise<void> {
  const path = join(host.root, UNIT);
  if (await readIfExists(path) === UNIT_TEXT) return;
  const isNew = await readIfExists(path) === undefined;
  await Deno.mkdir(dirname(path), { recursive: true });
  await writeFileAtomic(path, UNIT_TEXT, { mode: 0o644 });
  await systemctl(host, "daemon-reload");
  if (!isNew) return;
  try {
    await systemctl(host, "enable", SERVICE);
  } catch (error) {
    // A unit that is there counts as enabled or switched off by the administrator.
    await removeIfExists(path);
    throw error;
  }
  host.say(`${SERVICE} starts with the host`);
}

/** Starts it, or starts it again; where it has no credentials yet it says what to do. */
export async function startService(host: ImageHost): Promise<void> {
  const credentials = await Deno.stat(join(host.root, CREDENTIALS)).catch(() => undefined);
  if (!credentials) {
    host.say(
      `put the machine's credentials into ${CREDENTIALS}, then: systemctl start machine-server`,
    );
    return;
  }
  const { stdout } = await host.run("systemctl", ["is-enabled", SERVICE]);
  if (stdout.trim() !== "enabled") {
    await restartIfActive(host);
    return host.say(`${SERVICE} is ${stdout.trim()}, and stays so`);
  }
  await systemctl(host, "restart", SERVICE);
  host.say(`${SERVICE} runs; journalctl -u machine-server shows its log`);
}

export async function restartIfActive(host: ImageHost): Promise<boolean> {
  if ((await host.run("systemctl", ["is-active", "--quiet", SERVICE])).code !== 0) return false;
  await systemctl(host, "restart", SERVICE);
  return true;
}

/** Ends the service and removes its unit. @returns false when there was none of ours. */
export async function removeService(host: ImageHost): Promise<boolean> {
  const path = join(host.root, UNIT);
  const unit = await readIfExists(path);
  if (!unit?.startsWith(MADE_BY)) return false;
  await systemctl(host, "disable", "--now", SERVICE);
  await removeIfExists(path);
  await systemctl(host, "daemon-reload");
  return true;
}

async function systemctl({ run }: ImageHost, ...args: string[]): Promise<void> {
  const { code, stderr } = await run("systemctl", args);
  if (code === 0) return;
  throw new AppImageError(`systemctl ${args.join(" ")} failed: ${stderr.trim() || `code ${code}`}`);
}
