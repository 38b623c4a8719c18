import { join } from "node:path";
import { waitFor } from "../../shared/base/time/wait_for.ts";

const CONFIGURATION = (socket: string) =>
  `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>custom</type>
  <listen>unix:path=${socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
    <allow user="*"/>
  </policy>
</busconfig>
`;

/** A real message bus of its own, in a folder that goes with it. */
export class PrivateBus implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;

  private constructor(
    /** As `DBUS_SYSTEM_BUS_ADDRESS` has it. */
    readonly address: string,
    readonly folder: string,
    child: Deno.ChildProcess,
  ) {
    this.#child = child;
  }

  static async start(): Promise<PrivateBus> {
    const folder = await Deno.makeTempDir({ prefix: "bus-" });
    const socket = join(folder, "socket");
    const configuration = join(folder, "bus.conf");
    await Deno.writeTextFile(configuration, CONFIGURATION(socket));
    const child = new Deno.Command("dbus-daemon", {
      args: [`--config-file=${configuration}`, "--nofork", "--nopidfile", "--nosyslog"],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const bus = new PrivateBus(`unix:path=${socket}`, folder, child);
    // The socket's file is there before anybody listens on it.
    const accepts = async () => {
      (await Deno.connect({ transport: "unix", path: socket })).close();
      return true;
    };
    await waitFor(accepts, { deadlineMs: 60_000, what: "the private bus" });
    return bus;
  }

  /** Ends the bus, as a restart of it would; the folder stays. */
  async stop(): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#child.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await Deno.remove(this.folder, { recursive: true });
  }
}
