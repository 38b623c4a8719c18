/** Where modules reach the server. */
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { basename, isAbsolute } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { PeerGate } from "./peer_gate.ts";
import { type PeerProcesses, SECRET_VARIABLE } from "./peer_process.ts";
import {
  freeLoopbackPort,
  LONGEST_SOCKET_PATH,
  randomLetters,
  socketPath,
} from "./socket_address.ts";
import { systemPeerProcesses } from "./system_peers.ts";

/** How the server and a module speak: over unix sockets or over TCP on loopback. */
export type ModuleTransport = "unix" | "tcp";

/** Metadata by which the server knows the module behind a log line or a span. */
const MODULE_NAME_KEY = "modname";
const NAMED_PATHS: ReadonlySet<string> = new Set(
  ["Log", "SendTraces"].map((method) => `/${RobotService.typeName}/${method}`),
);

export interface ParentServerOptions {
  /**
   * Adds the services that modules may call to the router of one module. What it returns is called
   * when the router is no longer served.
   */
  readonly mount: (router: RpcRouter, moduleName: string) => (() => void) | void;
  readonly interceptors?: readonly Interceptor[];
  readonly log: Logger;
  /** Where the private folder for sockets is made. Default: the system's folder for such. */
  readonly temporaryFolder?: string;
  /**
   * A file that holds the path of that folder, so that the next start removes what a server that was
   * killed left. Default: nothing is removed.
   */
  readonly folderFile?: string;
  /** Reports whose a TCP connection is. Default: this host's system. */
  readonly peers?: () => Promise<PeerProcesses | undefined>;
}

/** What a run of a module shows to be let in. */
export interface Admission {
  /** For the environment of the module. */
  readonly variables: Readonly<Record<string, string>>;
  /** Lets the processes of the program with this id in; the returned function ends that. */
  open(pid: number): () => void;
}

interface Running {
  readonly server: RpcServer;
  readonly address: string;
  readonly unmount: () => void;
}

const FOLDER = "machine-modules-";
/** What is left of the longest path for the name of a socket when the folder is not too deep. */
const ROOM_FOR_NAMES = 40;
/** Calls that a module has under way get this long when its server ends. */
const CLOSE_GRACE_MS = 1_000;

/**
 * Servers without sign-in that only modules reach, one for each module: a unix socket in a folder
 * that nobody else can enter, or a TCP port of loopback that takes connections of the module's
 * processes only, before a byte of them is read. So a module is known by where it calls, and
 * not by what it says: the metadata `modName`, which some SDKs leave out. A server takes about
 * 200 KB.
 */
export class ParentServer {
  readonly #options: ParentServerOptions;
  readonly #servers = new Map<string, Promise<Running>>();
  readonly #gates = new Map<string, PeerGate>();
  #folder: Promise<string> | undefined;
  #peers: Promise<PeerProcesses | undefined> | undefined;

  constructor(options: ParentServerOptions) {
    this.#options = options;
  }

  /** Starts the module's server unless it runs; gives the address for it: a path, or host:port. */
  async address(moduleName: string, transport: ModuleTransport): Promise<string> {
    const key = `${transport} ${moduleName}`;
    let starting = this.#servers.get(key);
    if (!starting) {
      starting = this.#start(moduleName, transport);
      this.#servers.set(key, starting);
      // A failure, such as a full disk, is not kept for the next start.
      starting.catch(() => this.#servers.delete(key));
    }
    return (await starting).address;
  }

  /**
   * How the next run of a module gets to be let in by its server. Over unix sockets nothing is
   * needed: nobody else reaches them.
   */
  admission(moduleName: string, transport: ModuleTransport): Admission {
    if (transport === "unix") return { variables: {}, open: () => () => {} };
    const secret = randomBytes(24).toString("base64url");
    return {
      variables: { [SECRET_VARIABLE]: secret },
      open: (pid) => {
        const gate = this.#gates.get(moduleName);
        const run = { pid, secret };
        gate?.open(run);
        return () => gate?.close(run);
      },
    };
  }

  /** An address for a module to serve on: a new path next to the servers' sockets, or host:port. */
  async newModuleAddress(moduleName: string, transport: ModuleTransport): Promise<string> {
    if (transport === "tcp") return `127.0.0.1:${freeLoopbackPort()}`;
    return socketPath(await this.#socketFolder(), moduleName, randomLetters());
  }

  /** Ends the servers of a module that is gone. */
  async release(moduleName: string): Promise<void> {
    this.#gates.delete(moduleName);
    for (const transport of ["unix", "tcp"] as const) {
      const key = `${transport} ${moduleName}`;
      const running = this.#servers.get(key);
      this.#servers.delete(key);
      if (running) await end(running);
    }
  }

  /** Ends the servers and removes the folder. */
  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(end));
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

  async #start(moduleName: string, transport: ModuleTransport): Promise<Running> {
    const { mount, interceptors = [], log } = this.#options;
    const listen = transport === "tcp"
      ? { hostname: "127.0.0.1", port: 0 }
      : { path: socketPath(await this.#socketFolder(), `parent-${moduleName}`, randomLetters()) };
    const gate = transport === "tcp" ? await this.#gate(moduleName) : undefined;
    const router = new RpcRouter();
    const unmount = mount(router, moduleName) ?? (() => {});
    try {
      const server = await RpcServer.start({
        router,
        listen,
        interceptors: [
          ...(gate ? [refuseBrowsers] : []),
          nameModule(moduleName),
          ...interceptors,
        ],
        ...(gate && { admit: (ends) => gate.refusal(ends), http2Only: true }),
        report: (error, path, id) =>
          log.error(`a call of ${path} by module ${moduleName} failed`, {
            event: "call_failed",
            error,
            id,
          }),
      });
      const address = "path" in listen ? listen.path : `127.0.0.1:${server.address.port}`;
      return { server, address, unmount };
    } catch (error) {
      unmount();
      throw error;
    }
  }

  /** @throws on systems where nothing shows whose a connection is. */
  async #gate(moduleName: string): Promise<PeerGate> {
    this.#peers ??= this.#options.peers?.() ?? systemPeerProcesses();
    const peers = await this.#peers;
    if (!peers) {
      throw new Error(
        `modules cannot be reached over TCP on ${Deno.build.os}: this system does not report ` +
          "whose a connection is, and anybody could call; take unix sockets (no tcp_mode)",
      );
    }
    const gate = new PeerGate({ moduleName, peers, log: this.#options.log });
    this.#gates.set(moduleName, gate);
    return gate;
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
    const { folderFile } = this.#options;
    if (folderFile !== undefined) await this.#removeLeftFolder(folderFile);
    const folder = await Deno.makeTempDir({ dir, prefix: FOLDER });
    if (folderFile !== undefined) await this.#noteFolder(folderFile, folder);
    return folder;
  }

  /** Modules start without the note, on a full disk for example. */
  async #noteFolder(folderFile: string, folder: string): Promise<void> {
    try {
      await writeFileAtomic(folderFile, folder);
    } catch (error) {
      this.#options.log.debug("where sockets of modules lie is not noted", { error });
    }
  }

  async #removeLeftFolder(folderFile: string): Promise<void> {
    try {
      const left = await readIfExists(folderFile);
      if (left === undefined || !isAbsolute(left) || !basename(left).startsWith(FOLDER)) return;
      await Deno.remove(left, { recursive: true });
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return;
      this.#options.log.warn("sockets that an earlier server left are not removed", { error });
    }
  }
}

function nameModule(moduleName: string): Interceptor {
  return {
    before(call) {
      if (NAMED_PATHS.has(call.path)) call.requestHeader.set(MODULE_NAME_KEY, moduleName);
    },
  };
}

/** A page cannot speak HTTP/2 without TLS itself; something between might for it. */
const refuseBrowsers: Interceptor = {
  before(call) {
    if (call.header("origin") === undefined) return;
    throw new ConnectError("web pages may not call this server", Code.PermissionDenied);
  },
};

async function end(starting: Promise<Running>): Promise<void> {
  const running = await starting.catch(() => undefined);
  running?.unmount();
  await running?.server.close({ graceMs: CLOSE_GRACE_MS });
}
