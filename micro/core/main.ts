import { hex } from "./bytes/bytes.ts";
import { CloudClient, type Credentials } from "./cloud/cloud_client.ts";
import { Certificates } from "./cloud/certificates.ts";
import type { Key } from "./machine_config.ts";
import type { LogQueue } from "./log/log_queue.ts";
import { readCredentials } from "./cloud/credentials.ts";
import { CloudLink } from "./cloud/link.ts";
import { Relay } from "./cloud/relay.ts";
import type { Host } from "./host/host.ts";
import { fromUtf8 } from "./bytes/utf8.ts";
import { DataCapture } from "./data/capture.ts";
import { Machine } from "./machine.ts";
import { fakes } from "./models/fakes.ts";
import { i2cSensors } from "./models/i2c_sensors.ts";
import { pinModels } from "./models/pins.ts";
import { wheeledBase } from "./models/wheeled_base.ts";
import { Ota } from "./ota/ota.ts";
import type { Model } from "./resources/models.ts";
import { RpcError, textOf } from "./rpc/errors.ts";
import { Access } from "./serving/access.ts";
import { Port } from "./serving/port.ts";
import { Services } from "./serving/services.ts";
import { DEFAULT_WINDOW_MS, Sessions } from "./serving/sessions.ts";

/** Where callers of the local network find the machine. */
const DEFAULT_PORT = 8080;

/** A device whose loop stands still for so long restarts. Milliseconds. */
const WATCHDOG_MS = 60_000;

/** What differs from one device to the next. */
export interface StartOptions {
  /**
   * The machine's credentials as the cloud prints them: JSON `{"cloud": {"id", "secret",
   * "app_address"}}`. Without it, what flash has under `credentials`.
   */
  readonly credentials?: string;
  /** Port for calls from the local network; default 8080, 0 for any free one. */
  readonly port?: number;
  /**
   * Whether the port is opened with the certificate of a cloud that is reached by TLS, and only with
   * it; default true. Ports that only this device reaches need none.
   */
  readonly tls?: boolean;
  /** Version of the program, as it is reported. */
  readonly version: string;
  /** Models next to the built-in ones. */
  readonly models?: readonly Model[];
  /** Raw Ed25519 key, 32 bytes, that new firmware must be signed with; default: none. */
  readonly updateKey?: Uint8Array;
}

const BUILT_IN: readonly Model[] = [...fakes, ...pinModels, ...i2cSensors, wheeledBase];

/** A running machine. */
export interface Running {
  /** Port of the local network; 0 while it is not open. */
  readonly port: number;
  /** Ends everything; the host may then end the process. */
  stop(): void;
}

/** Starts the machine. Returns at once; everything else happens in the host's callbacks. */
export function start(host: Host, options: StartOptions): Running {
  const machine = new Machine(host, [...BUILT_IN, ...options.models ?? []]);
  const { log } = machine;
  log.write("info", "machine", `machine-micro-server ${options.version}`);
  const kept = host.flash.read("credentials");
  const text = options.credentials ?? (kept && fromUtf8(kept));
  const cloud = connectCloud(host, text, log);
  const access = new Access({
    host,
    secret: cloud?.credentials.payload ?? hex(host.random(32)),
    keys: () => [
      ...(machine.config?.keys ?? []),
      ...(cloud ? [partKey(cloud.credentials)] : []),
    ],
    verify: async (id, key) => {
      if (!cloud) throw new RpcError("unauthenticated", "invalid credentials");
      await cloud.verifyKey(id, key);
    },
  });
  const sessions = new Sessions({
    host,
    halt: (names) => machine.graph.halt(names),
    warn: (text) => log.write("warn", "sessions", text),
  });
  const services = new Services({
    machine,
    access,
    sessions,
    version: options.version,
    restart: () => host.restart(),
  });
  const wantsTls = (options.tls ?? true) && cloud?.credentials.origin.tls === true;
  const port = new Port({
    ...{ host, services, log, wantsTls },
    port: options.port ?? DEFAULT_PORT,
    title: `machine-micro-server ${options.version}`,
  });
  const certificates = wantsTls && cloud
    ? new Certificates({ host, client: cloud, log, use: (issued) => port.use(issued) })
    : undefined;
  const ota = new Ota({
    ...{ host, log, publicKey: options.updateKey },
    headersFor: async (origin, refused) => await cloud?.headersFor(origin, refused) ?? {},
  });
  const relay = cloud && new Relay({ host, client: cloud, services });
  const link = cloud && new CloudLink({
    host,
    client: cloud,
    log,
    version: options.version,
    handlers: {
      config: (config) => machine.apply(config),
      access: (keys) => access.list(keys),
      report: async (live) => ({
        status: machine.status(),
        readings: live ? await machine.readings() : [],
      }),
      restart: () => host.restart(),
      call: (call) => relay?.take(call),
      reached: (online) => {
        if (online) ota.reached();
      },
    },
  });
  const capture = new DataCapture({ host, graph: machine.graph, log, client: cloud });
  machine.onApplied((config) => {
    link?.changed();
    port.configure(config);
    sessions.windowMs = config.sessionMs ?? DEFAULT_WINDOW_MS;
    capture.apply(config);
    void ota.apply(config.ota);
  });
  machine.restore();
  certificates?.start();
  port.start();
  link?.start();
  const stopWatchdog = feedWatchdog(host);
  return {
    get port() {
      return port.port;
    },
    stop() {
      stopWatchdog();
      link?.close();
      certificates?.close();
      port.close();
      sessions.close();
      capture.close();
      ota.close();
      machine.graph.close();
    },
  };
}

function connectCloud(
  host: Host,
  text: string | undefined,
  log: LogQueue,
): CloudClient | undefined {
  try {
    if (text === undefined) throw new Error("there are no credentials");
    return new CloudClient(host, readCredentials(text));
  } catch (error) {
    log.write("error", "machine", `runs without a cloud: ${textOf(error)}`);
    return undefined;
  }
}

/** The part's own secret opens the machine, too. */
function partKey({ entity, payload, type }: Credentials): Key {
  return { type, entity, secret: payload, role: "owner" };
}

/** Reports to the watchdog that the loop turns, until it is stopped. */
function feedWatchdog(host: Host): () => void {
  let timer = 0;
  const feed = () => {
    host.watchdog(WATCHDOG_MS);
    timer = host.setTimer(WATCHDOG_MS / 4, feed);
  };
  feed();
  return () => {
    host.clearTimer(timer);
    host.watchdog(0);
  };
}
