/** The firmware of machine-micro-server on the board that QEMU emulates. */
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { CertificateAuthority } from "../../cloud/accounts/certificates/authority.ts";
import { missingTools } from "../../shared/test_tools/skips.ts";
import { BOARD, buildFirmware, type BuiltFirmware } from "../../tools/micro/firmware/build.ts";
import { flashImage } from "../../tools/micro/firmware/flash_image.ts";
import { noSourcesBecause } from "../../tools/micro/sources.ts";
import { findZig } from "../../tools/micro/zig.ts";
import { ROOT } from "../../tools/programs.ts";
import { Program } from "../e2e/program.ts";
import { eventually, type Rig } from "../e2e/rig.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";

/** Where the board finds the host that runs the emulator. */
export const HOST_ADDRESS = "10.0.2.2";

/** Why no firmware can be made or run here. */
export async function noFirmwareBecause(): Promise<string | undefined> {
  return missingTools("cortex-m", "qemu-system-arm") ?? await noSourcesBecause();
}

/**
 * Builds a firmware.
 *
 * @param entry the script, relative to the root; default: the machine
 */
export async function firmware(version: string, entry?: string): Promise<BuiltFirmware> {
  const name = `${entry === undefined ? "own" : basename(entry, ".ts")}-${version}`;
  const output = join(ROOT, ".tools/micro/firmware-tests", name);
  return await buildFirmware({
    ...{ root: ROOT, zig: await findZig(ROOT), version, commit: "0123456" },
    ...(entry === undefined ? {} : { entry }),
    output: join(output, `${name}.bin`),
  });
}

/** A board with a flash chip that outlives it. */
export class Board {
  readonly #flash: string;
  readonly #loader: string;
  /** Of this host, where the board's port 8080 is. */
  readonly port: number = freePort();

  private constructor(flash: string, loader: string) {
    this.#flash = flash;
    this.#loader = loader;
  }

  /** Writes a new flash chip in a folder. */
  static async make(
    folder: string,
    { image, loader }: BuiltFirmware,
    values: Readonly<Record<string, string>> = {},
  ): Promise<Board> {
    const flash = join(folder, "board.flash");
    await Deno.mkdir(dirname(flash), { recursive: true });
    const encoder = new TextEncoder();
    const bytes = Object.entries(values).map(([key, text]) => [key, encoder.encode(text)] as const);
    await Deno.writeFile(flash, flashImage(await Deno.readFile(image), Object.fromEntries(bytes)));
    return new Board(flash, loader);
  }

  /**
   * Switches it on.
   *
   * @param resolvConf file with the name server that its network has; default: that of the host
   */
  start(resolvConf?: string): Program {
    const command = [
      ...["qemu-system-arm", "-M", BOARD, "-kernel", this.#loader, "-monitor", "none"],
      ...["-serial", "stdio", "-display", "none"],
      ...["-semihosting-config", `enable=on,target=native,arg=${this.#flash}`],
      ...["-nic", `user,model=lan9118,hostfwd=tcp:127.0.0.1:${this.port}-:8080`],
    ];
    // The emulator passes questions on to the first server of this file.
    const mount = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
    const [first = "", ...args] = resolvConf === undefined
      ? command
      : ["unshare", "-m", "sh", "-c", mount, resolvConf, ...command];
    return Program.start({ name: "firmware", command: first, args });
  }
}

/** What differs from a board that reaches its cloud by address and has a port without TLS. */
interface BoardOptions {
  /** Of the cloud, in place of its address. */
  readonly name?: string;
  /** QEMU opens the board's port at loopback, where callers know the machine by no name. */
  readonly portTls?: boolean;
}

/** Starts the rig's cloud, with TLS in front; a board with the credentials of its machine. */
export async function boardOf(
  rig: Rig,
  built: BuiltFirmware,
  { name = HOST_ADDRESS, portTls = false }: BoardOptions = {},
): Promise<{ board: Board; front: TlsFront }> {
  const front = await TlsFront.open(rig.dir, () => rig.cloudPort, name);
  // Without TLS of its own it sends certificates where its address says that a proxy has it.
  await rig.startCloud(portTls ? ["--public-url", front.url] : []);
  const credentials = JSON.parse(await Deno.readTextFile(rig.credentialsFile)) as {
    cloud: Record<string, string>;
  };
  credentials.cloud["app_address"] = front.url;
  const board = await Board.make(rig.dir, built, {
    credentials: JSON.stringify(credentials),
    roots: front.rootPem,
    ...(portTls ? {} : { "no-tls": "1" }),
  });
  return { board, front };
}

/** Bytes of its heap: least of some readings in a row, as the engine collects its garbage now and then. */
export async function heapOf(rig: Rig, deadlineMs: number): Promise<number> {
  const used = new Map<unknown, number>();
  await eventually("readings of the memory", async () => {
    const { readings } = await rig.liveStatus();
    const host = readings.find(({ name }) => name === "host")?.readings;
    if (host) used.set(host["uptime_seconds"], Number(host["memory_used"]));
    return used.size >= 10;
  }, deadlineMs);
  // The first one may be of before.
  return Math.min(...[...used.values()].slice(1));
}

/** TLS in front of a plain server of this host, as a board reaches it. */
export class TlsFront implements AsyncDisposable {
  readonly url: string;
  readonly #listener: Deno.TlsListener;
  readonly #connections = new Set<Deno.Conn>();
  /** Connections so far that got through. */
  opened = 0;

  private constructor(
    readonly rootPem: string,
    /** For the name. */
    readonly pair: { readonly cert: string; readonly key: string },
    listener: Deno.TlsListener,
    name: string,
    private readonly to: () => number,
  ) {
    this.#listener = listener;
    this.url = `https://${name}:${(listener.addr as Deno.NetAddr).port}`;
    void this.#accept();
  }

  /**
   * @param to port of the plain server
   * @param name what boards call this host; default: its address
   */
  static async open(
    folder: string,
    to: () => number,
    name: string = HOST_ADDRESS,
  ): Promise<TlsFront> {
    const home = join(folder, "authority");
    await Deno.mkdir(home, { recursive: true });
    const now = new Date();
    const authority = await CertificateAuthority.open(home, { now });
    const { certificate, key } = await authority.issue({
      ...{ names: [name], commonName: name, now },
    });
    const pair = { cert: certificate, key };
    const listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...pair });
    return new TlsFront(authority.rootPem, pair, listener, name, to);
  }

  /** Ends what is open, as a router that restarts. */
  cut(): void {
    for (const connection of this.#connections) close(connection);
    this.#connections.clear();
  }

  // deno-lint-ignore require-await -- the interface's
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    this.cut();
  }

  async #accept(): Promise<void> {
    try {
      for await (const outer of this.#listener) void this.#pipe(outer);
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) process.stderr.write(`${String(error)}\n`);
    }
  }

  async #pipe(outer: Deno.TlsConn): Promise<void> {
    this.#connections.add(outer);
    // Only after the handshake.
    if (!await handshake(outer)) return void this.#connections.delete(outer);
    this.opened++;
    const inner = await Deno.connect({ hostname: "127.0.0.1", port: this.to() })
      .catch(() => undefined);
    if (inner) {
      this.#connections.add(inner);
      const there = outer.readable.pipeTo(inner.writable).catch(() => undefined);
      const back = inner.readable.pipeTo(outer.writable).catch(() => undefined);
      await Promise.all([there, back]);
      close(inner);
      this.#connections.delete(inner);
    }
    close(outer);
    this.#connections.delete(outer);
  }
}

/** Whether its peer finished the handshake. */
async function handshake(connection: Deno.TlsConn): Promise<boolean> {
  return await connection.handshake().then(() => true, () => (close(connection), false));
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It was closed by its streams.
  }
}
