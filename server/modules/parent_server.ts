/** Where modules reach the server. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "../../shared/log/logger.ts";
import type { Interceptor } from "../../shared/rpc/interceptor.ts";
import { RpcRouter } from "../../shared/rpc/router.ts";
import { RpcServer } from "../../shared/rpc/server.ts";
import {
  freeLoopbackPort,
  LONGEST_SOCKET_PATH,
  randomLetters,
  socketPath,
} from "./socket_address.ts";

/** How the server and a module speak: over unix sockets or over TCP on loopback. */
export type ModuleTransport = "unix" | "tcp";

export interface ParentServerOptions {
  /** Adds the services that modules may call. Called once for each kind of transport in use. */
  readonly mount: (router: RpcRouter) => void;
  readonly interceptors?: readonly Interceptor[];
  readonly log: Logger;
  /** Where the private folder for sockets is made. Default: the system's folder for such. */
  readonly temporaryFolder?: string;
}

const FOLDER = "machine-modules-";
/** What is left of the longest path for the name of a socket when the folder is not too deep. */
const ROOM_FOR_NAMES = 40;
/** Calls that modules have under way at the end of the server get this long. */
const CLOSE_GRACE_MS = 1_000;

/**
 * Servers without sign-in that only modules know of: a unix socket in a folder that nobody else can
 * enter, and a TCP port of loopback. Each starts when the first module needs it.
 */
export class ParentServer {
  readonly #options: ParentServerOptions;
  readonly #servers = new Map<ModuleTransport, Promise<{ server: RpcServer; address: string }>>();
  #folder: Promise<string> | undefined;

  constructor(options: ParentServerOptions) {
    this.#options = options;
  }

  /** Starts what is needed and gives the address to tell modules: a path, or host:port. */
  async address(transport: ModuleTransport): Promise<string> {
    let starting = this.#servers.get(transport);
    if (!starting) {
      starting = this.#start(transport);
      this.#servers.set(transport, starting);
      // A failure, such as a full disk, is not kept for the next module.
      starting.catch(() => this.#servers.delete(transport));
    }
    return (await starting).address;
  }

  /** An address for a module to serve on: a new path beside the parent's socket, or host:port. */
  async newModuleAddress(moduleName: string, transport: ModuleTransport): Promise<string> {
    if (transport === "tcp") return `127.0.0.1:${freeLoopbackPort()}`;
    return socketPath(await this.#socketFolder(), moduleName, randomLetters());
  }

  /** Ends the servers and removes the folder. */
  async close(): Promise<void> {
    for (const starting of this.#servers.values()) {
      const started = await starting.catch(() => undefined);
      await started?.server.close({ graceMs: CLOSE_GRACE_MS });
    }
    this.#servers.clear();
    const folder = await this.#folder?.catch(() => undefined);
    this.#folder = undefined;
    if (folder === undefined) return;
    try {
      await Deno.remove(folder, { recursive: true });
    } catch (error) {
      this.#options.log.warn(`the folder ${folder} cannot be removed`, { error });
    }
  }

  async #start(transport: ModuleTransport) {
    const { mount, interceptors = [], log } = this.#options;
    const router = new RpcRouter();
    mount(router);
    const listen = transport === "tcp"
      ? { hostname: "127.0.0.1", port: 0 }
      : { path: join(await this.#socketFolder(), "parent.sock") };
    const server = await RpcServer.start({
      router,
      listen,
      interceptors,
      report: (error, path, id) => log.error(`a module's call of ${path} failed`, { error, id }),
    });
    const address = "path" in listen ? listen.path : `127.0.0.1:${server.address.port}`;
    log.debug("modules reach the server", { address });
    return { server, address };
  }

  #socketFolder(): Promise<string> {
    this.#folder ??= this.#makeFolder();
    this.#folder.catch(() => this.#folder = undefined);
    return this.#folder;
  }

  async #makeFolder(): Promise<string> {
    const wanted = this.#options.temporaryFolder ?? tmpdir();
    // Socket paths have a limit that deep folders, as some systems have them, would break.
    const isDeep = wanted.length + FOLDER.length + ROOM_FOR_NAMES > LONGEST_SOCKET_PATH;
    const dir = isDeep && Deno.build.os !== "windows" ? "/tmp" : wanted;
    return await Deno.makeTempDir({ dir, prefix: FOLDER });
  }
}
