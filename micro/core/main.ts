import type { Host } from "./host/host.ts";

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
  host.log(`machine-micro-server ${options.version}`);
  return { port: options.port ?? 8080, stop: () => undefined };
}
