/**
 * A machine with a real NetworkManager and a cloud at the other end of its one cable. Only for
 * processes in a network namespace of their own, see networks_test.ts.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { PrivateBus } from "../../agent/dbus/testing.ts";
import { programPath } from "../../tools/run/options.ts";
import { forward } from "./forward.ts";
import { Program } from "./program.ts";
import { eventually, Rig } from "./rig.ts";
import { runToEnd } from "./run_to_end.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FORWARD = fileURLToPath(new URL("forward.ts", import.meta.url));
/** Where the cloud is on the cable. */
const CLOUD = "192.0.2.1";
/** The address of the profile that is there before the agent. */
export const FIRST_ADDRESS = "192.0.2.2";
const DEADLINE_MS = 120_000;

const NAMESPACE = `mount -t sysfs -o ro sysfs /sys && mount -t tmpfs tmpfs /run &&
mount -t tmpfs tmpfs /var/lib/NetworkManager &&
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

const FIRST_PROFILE = `[connection]
id=of-the-owner
uuid=11111111-2222-3333-4444-555555555555
type=ethernet
interface-name=eth0
[ipv4]
method=manual
address1=${FIRST_ADDRESS}/24,${CLOUD}
[ipv6]
method=disabled
`;

/** The part of `status.json` that is about networks. */
export interface NetworksStatus {
  readonly state: string;
  readonly detail: string;
  readonly problems: readonly string[];
}

/** The configuration of a machine that runs no server. */
export function networked(networks: JsonObject, advanced: JsonObject = {}): JsonObject {
  return {
    agent: {
      advanced_settings: { disable_machine_server: true, ...advanced },
      additional_networks: networks,
    },
  };
}

/** The machine, its cable, and the cloud; all of it ends with it. */
export class NetworkedMachine implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  #namespace: readonly string[] = [];
  #manager: Program | undefined;
  #agent: Program | undefined;

  private constructor(readonly rig: Rig, readonly bus: PrivateBus) {
    this.#stack.use(bus);
    this.#stack.use(rig);
  }

  static async create(): Promise<NetworkedMachine> {
    const machine = new NetworkedMachine(await Rig.create(), await PrivateBus.start());
    try {
      await machine.#connect();
    } catch (error) {
      await machine[Symbol.asyncDispose]();
      throw error;
    }
    return machine;
  }

  get folder(): string {
    return join(this.rig.dir, "agent");
  }

  get manager(): Program {
    assert.ok(this.#manager);
    return this.#manager;
  }

  get agent(): Program {
    assert.ok(this.#agent);
    return this.#agent;
  }

  async #connect(): Promise<void> {
    const args = ["--net", "--mount", "sh", "-c", NAMESPACE];
    const holder = this.#start("namespace", "unshare", args);
    await holder.waitForLine(/^ready$/, DEADLINE_MS);
    // The root, too: that of a mount namespace is not ours where we run in a chroot.
    this.#namespace = ["--target", `${holder.pid}`, "--net", "--mount", "--root", "--wd"];
    await ip("link", "add", "eth0", "type", "veth", "peer", "name", "peer0");
    this.#stack.defer(() => ip("link", "delete", "peer0"));
    await ip("link", "set", "eth0", "netns", `${holder.pid}`);
    await ip("link", "set", "peer0", "up");
    await ip("address", "add", `${CLOUD}/24`, "dev", "peer0");
    const { folder } = this.bus;
    for (const name of ["conf.d", "profiles"]) await Deno.mkdir(join(folder, name));
    await Deno.writeTextFile(join(folder, "nm.conf"), MANAGER_CONFIG(folder));
    await Deno.writeTextFile(join(folder, "profiles/first.nmconnection"), FIRST_PROFILE, {
      mode: 0o600,
    });
    this.startManager();
    // Credentials travel over plain HTTP only within a host.
    const { cloudPort } = this.rig;
    this.#stack.defer(forward(`${CLOUD}:${cloudPort}`, `127.0.0.1:${cloudPort}`));
    const addresses = [`127.0.0.1:${cloudPort}`, `${CLOUD}:${cloudPort}`];
    const deno = ["run", "--allow-net", "--no-check", "--quiet", FORWARD, ...addresses];
    this.#inside("forward", `${ROOT}tools/deno.sh`, deno);
    await this.#isUp();
  }

  /** Starts NetworkManager, again after it ended. */
  startManager(): void {
    const { folder } = this.bus;
    this.#manager = this.#inside("NetworkManager", "NetworkManager", [
      ...["--no-daemon", "--log-level=WARN", "--config", join(folder, "nm.conf")],
      ...["--config-dir", join(folder, "conf.d"), "--state-file", join(folder, "state")],
      ...["--intern-config", join(folder, "intern"), "--pid-file", join(folder, "nm.pid")],
    ]);
  }

  /** Starts the agent as root, not in dev mode. */
  startAgent(credentialsFile = this.rig.credentialsFile): void {
    this.#agent = this.#inside(
      "machine-agent",
      programPath("machine-agent", {
        binaries: Deno.env.get("MACHINE_TEST_BINARIES"),
      }, ROOT),
      [
        ...["-c", credentialsFile, "--dir", this.folder],
        ...["--defaults", join(this.rig.dir, "defaults.json")],
      ],
    );
  }

  /**
   * Has the next agent find another configuration. It need not find out first that connections of
   * the address before are dead, which takes half a minute.
   */
  async restartAgent(config: JsonObject): Promise<void> {
    await this.agent.stop(5_000);
    await this.rig.saveConfig(config);
    this.startAgent();
  }

  #inside(name: string, command: string, args: readonly string[]): Program {
    return this.#start(name, "nsenter", [...this.#namespace, command, ...args]);
  }

  #start(name: string, command: string, args: readonly string[]): Program {
    const env = { DBUS_SYSTEM_BUS_ADDRESS: this.bus.address, MACHINE_HOME: this.rig.serverHome };
    const program = Program.start({ name, command, args, env });
    this.rig.programs.push(program);
    return program;
  }

  /** The IPv4 addresses of the machine's cable. */
  async addresses(): Promise<string[]> {
    const { stdout } = await runToEnd("nsenter", {
      args: [...this.#namespace, "ip", "-4", "-json", "address", "show", "dev", "eth0"],
    });
    const [cable] = JSON.parse(new TextDecoder().decode(stdout)) as {
      addr_info?: { local: string }[];
    }[];
    return (cable?.addr_info ?? []).map(({ local }) => local);
  }

  /** Names of the files that NetworkManager keeps profiles in. */
  profiles(): string[] {
    return [...Deno.readDirSync(join(this.bus.folder, "profiles"))].map(({ name }) => name).sort();
  }

  async hasProfiles(count: number): Promise<void> {
    await eventually(
      `${count} profiles are on disk`,
      () => Promise.resolve(this.profiles().length === count),
      DEADLINE_MS,
    );
  }

  /** What `status.json` says now. */
  async networks(): Promise<NetworksStatus> {
    const text = await Deno.readTextFile(join(this.folder, "status.json"));
    return (JSON.parse(text) as { networks: NetworksStatus }).networks;
  }

  /** Waits until the networks' status fits. */
  async says(what: string, fits: (status: NetworksStatus) => boolean): Promise<NetworksStatus> {
    let last: NetworksStatus | undefined;
    try {
      return await eventually(what, async () => {
        last = await this.networks();
        return fits(last) && last;
      }, DEADLINE_MS);
    } catch (error) {
      throw new Error(`${what}; status: ${JSON.stringify(last)}`, { cause: error });
    }
  }

  async hasAddress(address: string): Promise<void> {
    await eventually(
      `the address is ${address}`,
      async () => (await this.addresses()).join() === address,
      DEADLINE_MS,
    );
  }

  /** NetworkManager has connected the cable. @throws ProgramEndedError when it could not start. */
  async #isUp(): Promise<void> {
    const ended = this.manager.exited.then(() => {
      throw this.manager.endedError();
    });
    await Promise.race([this.hasAddress(FIRST_ADDRESS), ended]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A process that is stopped ends by nothing else.
    this.#manager?.signal("SIGCONT");
    await this.#stack.disposeAsync();
  }
}

async function ip(...args: string[]): Promise<void> {
  const { success, stderr } = await runToEnd("ip", { args });
  if (!success) throw new Error(`ip ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
