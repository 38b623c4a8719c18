import { join } from "node:path";
import process from "node:process";
import { missingTools } from "../../../shared/test_tools/skips.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { connectSystemBus } from "../../dbus/dbus_connection.ts";
import { getProperty, type SystemBus } from "../../dbus/system_bus.ts";
import { PrivateBus } from "../../dbus/testing.ts";

/** Why a real NetworkManager cannot be run here; undefined where it can. */
export function noNetworkManagerBecause(): string | undefined {
  const missing = missingTools("dbus", "network-manager", "iproute2", "mount");
  if (missing !== undefined) return missing;
  if (process.getuid?.() !== 0) return "a network namespace of its own needs root";
  const probe = new Deno.Command("unshare", { args: ["--net", "--mount", "true"], stderr: "null" });
  return probe.outputSync().success ? undefined : "network namespaces are not allowed here";
}

/**
 * Runs in a network and mount namespace of its own, so that NetworkManager never gets beyond it.
 * With /sys read-only it does not wait for udev, which is not there to report interfaces.
 */
const SCRIPT = `set -e
mkdir -p "$RIG/run" "$RIG/etc/conf.d" "$RIG/profiles" "$RIG/state" /run/NetworkManager
mount --bind "$RIG/run" /run/NetworkManager
mount -t sysfs -o ro sysfs /sys
ip link set lo up
ip link add eth0 type veth peer name peer0
ip link set peer0 up
ip address add 192.0.2.1/24 dev peer0
printf '[main]\\nplugins=keyfile\\nauth-polkit=false\\ndns=none\\nno-auto-default=*\\n[keyfile]\\npath=%s/profiles\\n' "$RIG" \\
  >"$RIG/etc/nm.conf"
exec NetworkManager --no-daemon --log-level=WARN --config "$RIG/etc/nm.conf" \\
  --config-dir "$RIG/etc/conf.d" --state-file "$RIG/state/state" \\
  --intern-config "$RIG/state/intern" --pid-file "$RIG/run/nm.pid"
`;

const NAME = "org.freedesktop.NetworkManager";

/** A real NetworkManager on a bus of its own, with one wired interface `eth0` and no radio. */
export class NetworkManagerRig implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;

  private constructor(
    readonly messages: PrivateBus,
    /** A connection of the test's own. */
    readonly bus: SystemBus,
    child: Deno.ChildProcess,
  ) {
    this.#child = child;
  }

  /** Where NetworkManager keeps the profiles, one file each. */
  get profilesFolder(): string {
    return join(this.messages.folder, "profiles");
  }

  static async start(): Promise<NetworkManagerRig> {
    const messages = await PrivateBus.start();
    const child = new Deno.Command("unshare", {
      args: ["--net", "--mount", "--fork", "--kill-child", "sh", "-c", SCRIPT],
      env: { RIG: messages.folder, DBUS_SYSTEM_BUS_ADDRESS: messages.address },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const bus = await connectSystemBus({ clock: systemClock, address: messages.address });
    const rig = new NetworkManagerRig(messages, bus, child);
    try {
      await waitFor(
        () =>
          getProperty(bus, NAME, "/org/freedesktop/NetworkManager", NAME, "Startup")
            .then((startup) => startup === false),
        { deadlineMs: 60_000, what: "NetworkManager" },
      );
    } catch (error) {
      await rig[Symbol.asyncDispose]();
      throw error;
    }
    return rig;
  }

  /** Ends NetworkManager as a crash would; the bus stays. */
  async killManager(): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#child.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.bus.close();
    await this.killManager();
    await this.messages[Symbol.asyncDispose]();
  }
}
