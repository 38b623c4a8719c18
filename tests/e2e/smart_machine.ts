/**
 * A machine as its manufacturer ships it: NetworkManager with a simulated radio, defaults and no
 * credentials. This side of the air is the phone (10.42.0.77) and the home's router (192.0.2.1) with
 * the cloud behind it. Only for processes in a network namespace of their own.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { PrivateBus } from "../../agent/dbus/testing.ts";
import { programPath } from "../../tools/run/options.ts";
import { forward } from "./forward.ts";
import { Program } from "./program.ts";
import { eventually, Rig } from "./rig.ts";
import type { Air } from "./simulated_air.ts";
import { runToEnd } from "./run_to_end.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RADIO = fileURLToPath(new URL("simulated_radio.ts", import.meta.url));
const FORWARD = fileURLToPath(new URL("forward.ts", import.meta.url));
const DENO = `${ROOT}tools/deno.sh`;
const ROUTER = "192.0.2.1";
const PHONE = "10.42.0.77";
/** Where the machine is on its own network. */
export const HOTSPOT = "10.42.0.1";
const DEADLINE_MS = 240_000;

/** NetworkManager keeps nothing of this host, and changes nothing of it. */
const NAMESPACE = `mount -t sysfs -o ro sysfs /sys && mount -t tmpfs tmpfs /run &&
mount -t tmpfs tmpfs /etc/NetworkManager && mount -t tmpfs tmpfs /var/lib/NetworkManager &&
mkdir -p /run/NetworkManager && ip link set lo up && echo ready && exec sleep infinity`;

const MANAGER_CONFIG = (folder: string) =>
  `[main]
plugins=keyfile
auth-polkit=false
dns=none
no-auto-default=*
[keyfile]
path=${folder}/profiles
`;

interface Status {
  readonly networks: { readonly state: string; readonly detail: string };
}

export class SmartMachine implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  #namespace: readonly string[] = [];
  agent: Program | undefined;

  private constructor(
    readonly rig: Rig,
    /** Of NetworkManager itself. */
    readonly own: PrivateBus,
    /** Of the machine, with the radio. */
    readonly bus: PrivateBus,
  ) {
    for (const part of [own, bus, rig]) this.#stack.use(part);
  }

  static async create(air: Air): Promise<SmartMachine> {
    const machine = new SmartMachine(
      await Rig.create(),
      await PrivateBus.start(),
      await PrivateBus.start(),
    );
    try {
      await machine.#begin(air);
    } catch (error) {
      await machine[Symbol.asyncDispose]();
      throw error;
    }
    return machine;
  }

  get credentialsFile(): string {
    return join(this.rig.dir, "etc-machine.json");
  }

  get profilesFolder(): string {
    return join(this.own.folder, "profiles");
  }

  async #begin(air: Air): Promise<void> {
    const { folder } = this.own;
    const airFile = join(folder, "air.json");
    await Deno.writeTextFile(airFile, JSON.stringify(air));
    const holder = this.#start("namespace", "unshare", ["--net", "--mount", "sh", "-c", NAMESPACE]);
    await holder.waitForLine(/^ready$/, DEADLINE_MS);
    // In a chroot the root of a mount namespace is another one than ours.
    this.#namespace = ["--target", `${holder.pid}`, "--net", "--mount", "--root", "--wd"];
    await ip("link", "add", "air0", "type", "veth", "peer", "name", "wlan0");
    this.#stack.defer(() => ip("link", "delete", "air0"));
    await ip("link", "set", "wlan0", "netns", `${holder.pid}`);
    await ip("link", "set", "air0", "up");
    for (const address of [ROUTER, PHONE]) {
      await ip("address", "add", `${address}/24`, "dev", "air0");
    }
    this.#start("router", "dnsmasq", [
      ...["--no-daemon", "--conf-file=/dev/null", "--port=0", "--interface=air0"],
      ...["--bind-interfaces", "--dhcp-authoritative", `--dhcp-leasefile=${folder}/leases`],
      ...["--dhcp-range=192.0.2.50,192.0.2.99,255.255.255.0", `--dhcp-option=3,${ROUTER}`],
    ]);
    for (const name of ["conf.d", "profiles"]) await Deno.mkdir(join(folder, name));
    await Deno.writeTextFile(join(folder, "nm.conf"), MANAGER_CONFIG(folder));
    this.#inside("NetworkManager", this.own, "NetworkManager", [
      ...["--no-daemon", "--log-level=WARN", "--config", join(folder, "nm.conf")],
      ...["--config-dir", join(folder, "conf.d"), "--state-file", join(folder, "state")],
      ...["--intern-config", join(folder, "intern"), "--pid-file", join(folder, "nm.pid")],
    ]);
    await this.#startRadio(airFile);
    // Credentials travel over plain HTTP only within a host.
    const { cloudPort } = this.rig;
    this.#stack.defer(forward(`${ROUTER}:${cloudPort}`, `127.0.0.1:${cloudPort}`));
    const ends = [`127.0.0.1:${cloudPort}`, `${ROUTER}:${cloudPort}`];
    this.#inside("forward", this.bus, DENO, [
      ...["run", "--allow-net", "--no-check", "--quiet", FORWARD],
      ...ends,
    ]);
  }

  /** Once NetworkManager is there. */
  async #startRadio(airFile: string): Promise<void> {
    await eventually("a radio", async () => {
      const args = ["run", "-A", "--no-check", "--quiet", RADIO];
      const more = [this.own.address, this.bus.address, "wlan0", airFile];
      const radio = this.#start("radio", DENO, [...args, ...more]);
      return await radio.waitForLine(/^ready$/, DEADLINE_MS).then(() => true, () => false);
    }, DEADLINE_MS);
  }

  /** Starts the agent as root, not in dev mode, with the manufacturer's defaults alone. */
  async startAgent(defaults: JsonObject): Promise<void> {
    const file = join(this.rig.dir, "machine-defaults.json");
    await Deno.writeTextFile(file, JSON.stringify(defaults));
    const binaries = Deno.env.get("MACHINE_TEST_BINARIES");
    this.agent = this.#inside(
      "machine-agent",
      this.bus,
      programPath("machine-agent", { binaries }, ROOT),
      ["-c", this.credentialsFile, "--dir", join(this.rig.dir, "agent"), "--defaults", file],
    );
  }

  #inside(name: string, bus: PrivateBus, command: string, args: readonly string[]): Program {
    return this.#start(name, "nsenter", [...this.#namespace, command, ...args], bus);
  }

  #start(name: string, command: string, args: readonly string[], bus = this.bus): Program {
    const env = { DBUS_SYSTEM_BUS_ADDRESS: bus.address, MACHINE_HOME: this.rig.serverHome };
    const program = Program.start({ name, command, args, env });
    this.rig.programs.push(program);
    return program;
  }

  /** Waits until the networks' status has this state. */
  async says(state: string): Promise<void> {
    const file = join(this.rig.dir, "agent", "status.json");
    await eventually(`networks are ${state}`, async () => {
      const { networks } = JSON.parse(await Deno.readTextFile(file)) as Status;
      return networks.state === state;
    }, DEADLINE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

async function ip(...args: string[]): Promise<void> {
  const { success, stderr } = await runToEnd("ip", { args });
  if (!success) throw new Error(`ip ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
