/** PostgreSQL for tests: a server of its own in a temporary folder, on a free port of this host. */
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { toError } from "../base/errors/to_error.ts";
import { freePort } from "./free_port.ts";
import { programPath } from "./tools.ts";

/** PostgreSQL refuses to run as root; Debian's package makes this user. */
const ORDINARY_USER = "postgres";
const USER = "machine";
const DATABASE = "cloud";

/** A running server. Tests that start one ask `ignoreWithout(import.meta.url, "postgresql")`. */
export class PostgresServer implements AsyncDisposable {
  private constructor(readonly folder: string, readonly port: number) {}

  /**
   * @param settings lines of postgresql.conf, such as `max_connections = 20`. What was committed is
   * lost in a power cut (`fsync = off`) unless they say otherwise.
   */
  static async start(settings: readonly string[] = []): Promise<PostgresServer> {
    const dir = Deno.uid() !== 0 || letsThrough(tmpdir()) ? tmpdir() : "/tmp";
    const folder = await Deno.makeTempDir({ dir, prefix: "machine-postgres-" });
    if (Deno.uid() === 0) await run("chown", [ORDINARY_USER, folder]);
    const server = new PostgresServer(folder, freePort());
    try {
      await server.#initialize(settings);
      await server.resume();
      await server.query(`create database ${DATABASE}`, "postgres");
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  /** The address of the database that it has for tests, with parameters such as `schema=a`. */
  address(...parameters: readonly string[]): string {
    const query = parameters.length === 0 ? "" : `?${parameters.join("&")}`;
    return `postgres://${USER}@127.0.0.1:${this.port}/${DATABASE}${query}`;
  }

  /** Runs SQL with `psql`; gives back what it prints, columns separated by `|`. */
  async query(sql: string, database: string = DATABASE): Promise<string> {
    const at = ["-h", "127.0.0.1", "-p", `${this.port}`, "-U", USER, "-d", database];
    const text = await run(program("psql"), [...at, "-X", "-A", "-t", "-q", "-c", sql]);
    return text.trim();
  }

  /** Starts a standby, without whose word the first one commits nothing from then on. */
  async standby(): Promise<PostgresServer> {
    const standby = new PostgresServer(`${this.folder}-standby`, freePort());
    await Deno.mkdir(standby.folder, { mode: 0o700 });
    if (Deno.uid() === 0) await run("chown", [ORDINARY_USER, standby.folder]);
    const from = ["-h", "127.0.0.1", "-p", `${this.port}`, "-U", USER];
    await this.#asOrdinaryUser("pg_basebackup", "-D", standby.#data, "-R", "-c", "fast", ...from);
    const path = join(standby.#data, "postgresql.conf");
    const own = `port = ${standby.port}\nunix_socket_directories = '${standby.folder}'\n`;
    await Deno.writeTextFile(path, own, { append: true });
    await standby.resume();
    await this.query("alter system set synchronous_standby_names = '*'");
    await this.query("select pg_reload_conf()");
    return standby;
  }

  /** Makes a standby take changes, of which no other server has to know. */
  async promote(): Promise<void> {
    await this.#asOrdinaryUser("pg_ctl", "-D", this.#data, "-w", "promote");
    await this.query("alter system set synchronous_standby_names = ''");
    await this.query("select pg_reload_conf()");
  }

  /** Ends it, and starts it as a standby of nothing, which takes no changes. */
  async demote(): Promise<void> {
    await this.halt();
    const path = join(this.#data, "standby.signal");
    await this.#asOrdinaryUser("touch", path);
    await this.resume();
  }

  /** Its processes end as they notice. */
  async kill(): Promise<void> {
    const [pid] = (await Deno.readTextFile(join(this.#data, "postmaster.pid"))).split("\n");
    Deno.kill(Number(pid), "SIGKILL");
  }

  /** Ends the server; `immediate` is a crash. */
  async halt(mode: "fast" | "immediate" = "fast"): Promise<void> {
    await this.#asOrdinaryUser("pg_ctl", "-D", this.#data, "-m", mode, "-w", "stop");
  }

  /** Starts it again, as it was. */
  async resume(): Promise<void> {
    const log = join(this.folder, "log");
    await this.#asOrdinaryUser("pg_ctl", "-D", this.#data, "-l", log, "-w", "-s", "start");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.halt("immediate").catch(() => undefined); // it may not run
    await Deno.remove(this.folder, { recursive: true });
  }

  get #data(): string {
    return join(this.folder, "data");
  }

  async #initialize(settings: readonly string[]): Promise<void> {
    const options = ["-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-N"];
    // Less than half of what it writes then remains.
    const small = "--wal-segsize=1";
    await this.#asOrdinaryUser("initdb", "-D", this.#data, small, ...options);
    const lines = [
      `port = ${this.port}`,
      "listen_addresses = '127.0.0.1'",
      `unix_socket_directories = '${this.folder}'`,
      "fsync = off",
      "max_connections = 300",
      "max_locks_per_transaction = 1024",
      ...settings,
    ];
    const path = join(this.#data, "postgresql.conf");
    await Deno.writeTextFile(path, `${lines.join("\n")}\n`, { append: true });
  }

  async #asOrdinaryUser(name: string, ...args: readonly string[]): Promise<void> {
    const command = [program(name), ...args];
    if (Deno.uid() === 0) await run("runuser", ["-u", ORDINARY_USER, "--", ...command]);
    else await run(command[0] ?? "", command.slice(1));
  }
}

/** Whether other users may use what is in a folder. */
function letsThrough(folder: string): boolean {
  const mode = Deno.statSync(folder).mode ?? 0;
  return (mode & 0o1) !== 0 && (folder === "/" || letsThrough(dirname(folder)));
}

function program(name: string): string {
  const path = programPath(name);
  if (path === undefined) throw new Error(`there is no ${name}; install PostgreSQL`);
  return path;
}

/** @returns what it prints. */
async function run(command: string, args: readonly string[]): Promise<string> {
  const options: Deno.CommandOptions = { args: [...args], cwd: "/", stdin: "null" };
  const { success, stdout, stderr } = await new Deno.Command(command, options).output()
    .catch((error) => {
      throw new Error(`${command}: ${toError(error).message}`);
    });
  const text = new TextDecoder();
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${text.decode(stderr).trim()}`);
  return text.decode(stdout);
}
