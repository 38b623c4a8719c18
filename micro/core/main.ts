import { CloudClient } from "./cloud/cloud_client.ts";
import { readCredentials } from "./cloud/credentials.ts";
import { CloudLink } from "./cloud/link.ts";
import type { Host } from "./host/host.ts";
import { fromUtf8 } from "./bytes/utf8.ts";
import { Machine } from "./machine.ts";
import { fakes } from "./models/fakes.ts";
import type { Model } from "./resources/models.ts";
import { textOf } from "./rpc/errors.ts";

/** What differs from one device to the next. */
export interface StartOptions {
  /**
   * The machine's credentials as the cloud prints them: JSON `{"cloud": {"id", "secret",
   * "app_address"}}`. Without it, what flash has under `credentials`.
   */
  readonly credentials?: string;
  /** Port for calls from the local network; default 8080, 0 for any free one. */
  readonly port?: number;
  /** Version of the program, as it is reported. */
  readonly version: string;
  /** Models next to the built-in ones. */
  readonly models?: readonly Model[];
}

/** A running machine. */
export interface Running {
  /** Port of the local network. */
  readonly port: number;
  /** Ends everything; the host may then end the process. */
  stop(): void;
}

/** Starts the machine. Returns at once; everything else happens in the host's callbacks. */
export function start(host: Host, options: StartOptions): Running {
  const machine = new Machine(host, [...fakes, ...options.models ?? []]);
  const { log } = machine;
  log.write("info", "machine", `machine-micro-server ${options.version}`);
  machine.restore();
  const kept = host.flash.read("credentials");
  const text = options.credentials ?? (kept && fromUtf8(kept));
  let link: CloudLink | undefined;
  try {
    if (text === undefined) throw new Error("there are no credentials");
    const client = new CloudClient(host, readCredentials(text));
    link = new CloudLink({
      host,
      client,
      log,
      version: options.version,
      handlers: {
        config: (config) => machine.apply(config),
        access: () => {},
        report: async (live) => ({
          status: machine.status(),
          readings: live ? await machine.readings() : [],
        }),
        restart: () => host.restart(),
        reached: () => {},
      },
    });
    machine.onApplied(() => link?.changed());
    link.start();
  } catch (error) {
    log.write("error", "machine", `runs without a cloud: ${textOf(error)}`);
  }
  return {
    port: options.port ?? 8080,
    stop() {
      link?.close();
      machine.graph.close();
    },
  };
}
