/** The public port, moved when the configuration specifies so. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer, type RpcServerOptions } from "../../../shared/rpc/server/server.ts";
import { type ListenSettings, readyFields } from "./listen_settings.ts";

/** How long calls may continue when the port moves. Milliseconds. */
const MOVE_GRACE_MS = 2_000;

export interface WebServerOptions {
  /** Mounts every service on a new router. */
  mount: (router: RpcRouter) => void;
  interceptors: readonly Interceptor[];
  http: (request: Request, peer: Peer) => Response | Promise<Response>;
  log: Logger;
  /** As `RpcServerOptions.refuse`. */
  refuse?: RpcServerOptions["refuse"];
}

export class WebServer {
  #running: { server: RpcServer; settings: ListenSettings } | undefined;

  constructor(private readonly options: WebServerOptions) {}

  /** Where the server listens; undefined before the first {@link listen}. */
  get address(): { hostname: string; port: number } | undefined {
    return this.#running?.server.address;
  }

  /**
   * Listens as the settings specify; does nothing when it does already. The new port is opened
   * before the old one is closed, so a failure leaves the server where it was.
   *
   * @returns whether anything changed.
   * @throws {PortInUseError}
   */
  async listen(settings: ListenSettings): Promise<boolean> {
    const before = this.#running;
    if (before && sameSettings(before.settings, settings)) return false;
    const samePort = before?.server.address.port === settings.port;
    if (before && samePort) await before.server.close({ graceMs: MOVE_GRACE_MS });
    try {
      this.#running = { server: await this.#start(settings), settings };
    } catch (error) {
      if (before && samePort) {
        this.#running = { server: await this.#start(before.settings), settings: before.settings };
      }
      throw error;
    }
    if (before && !samePort) {
      void before.server.close({ graceMs: MOVE_GRACE_MS }).catch((error) =>
        this.options.log.warn(`closing the old port failed: ${toError(error).message}`)
      );
    }
    return true;
  }

  /** Writes the line that says where the server serves; wrappers wait for it. */
  announce(): void {
    if (!this.#running) return;
    const { server, settings } = this.#running;
    this.options.log.info("serving", readyFields(settings, server.address));
  }

  async close(graceMs: number): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.server.close({ graceMs });
  }

  #start(settings: ListenSettings): Promise<RpcServer> {
    const { mount, interceptors, http, log, refuse } = this.options;
    const router = new RpcRouter();
    mount(router);
    return RpcServer.start({
      router,
      interceptors,
      http,
      ...(refuse && { refuse }),
      listen: { hostname: settings.hostname, port: settings.port },
      tls: settings.tls,
      report: (error, path, id) =>
        log.error(`${path} failed: ${toError(error).message}`, {
          event: "call_failed",
          id,
          stack: toError(error).stack,
        }),
      onRefused: (address, reason) =>
        log.warn(`connection refused: ${reason}`, { event: "connection_refused", address }),
    });
  }
}

function sameSettings(a: ListenSettings, b: ListenSettings): boolean {
  return a.hostname === b.hostname && a.port === b.port && a.tls?.cert === b.tls?.cert &&
    a.tls?.key === b.tls?.key;
}
