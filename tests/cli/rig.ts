import { join } from "node:path";
import type { Client } from "@connectrpc/connect";
import { startCloud } from "../../cloud/serve/cloud.ts";
import type { Cloud } from "../../cloud/serve/cloud.ts";
import type { BootstrapResult } from "../../cloud/local/bootstrap/bootstrap.ts";
import { bootstrapFolder } from "../../cloud/local/bootstrap/bootstrap_testing.ts";
import { addOwner } from "../../cloud/local/people/people_command.ts";
import { readConfig } from "../../cloud/fleet/configuration/config_check.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { IDLE_DEPS } from "../../cli/program/idle_deps.ts";
import { machineProgram, type ProgramDeps } from "../../cli/program/program.ts";
import { Secret } from "../../shared/base/redaction/secret.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { CloudConnection } from "../../shared/cloud/client/connection.ts";
import type { Terminal } from "../../shared/commands/output/terminal.ts";
import { NO_TERMINAL } from "../../shared/commands/output/terminal_testing.ts";
import { runCommandLine } from "../../shared/commands/run/run_command.ts";
import { AccountService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";

/** What a command printed. */
export interface Printed {
  readonly out: string;
  readonly err: string;
}

/** What a test says of how a command is run. */
export interface RunOptions {
  readonly terminal?: Terminal;
  readonly env?: Readonly<Record<string, string>>;
  readonly deps?: Partial<ProgramDeps>;
  /** Receives what is printed while the command continues. */
  readonly onText?: (text: string) => void;
}

const deps = { clock: systemClock, random: systemRandom };

/** A real cloud on a port, and `machine` signed in there. */
export class CliRig implements AsyncDisposable {
  readonly #connections: CloudConnection[] = [];

  private constructor(
    readonly dir: string,
    readonly cloud: Cloud,
    readonly made: BootstrapResult,
  ) {}

  /**
   * @param owner somebody who owns the organisation, with a password
   * @param smtpUrl the mail server; left out: the cloud sends no mail
   */
  static async open(
    owner?: { email: string; password: string },
    smtpUrl?: string,
  ): Promise<CliRig> {
    const dir = await Deno.makeTempDir({ prefix: "machine-cli-test-" });
    const dataDir = join(dir, "cloud");
    const made = await bootstrapFolder(dataDir, { config: readConfig('{"components": []}') });
    const token = owner && await linkForOwner(dataDir, owner.email, made.org_id);
    const cloud = await startCloud({
      dataDir,
      listen: { hostname: "127.0.0.1", port: 0 },
      domain: "machine.internal",
      hostname: "localhost",
      packageLimitBytes: 1_000_000,
      passwordCost: { ln: 4, r: 8, p: 1 },
      ...(smtpUrl === undefined
        ? {}
        : { notifications: { smtpUrl, mailFrom: "cloud@example.com" } }),
    }, { ...deps, log: memoryLogger("machine-cloud") });
    const rig = new CliRig(dir, cloud, made);
    if (owner && token !== undefined) {
      await rig.account().setPassword({ token, password: owner.password });
    }
    await rig.run(["login", "--cloud", cloud.url], { env: rig.keyEnv });
    return rig;
  }

  /** Calls of people about their own account; those with a token only with one. */
  account(token?: string): Client<typeof AccountService> {
    const connection = CloudConnection.open({
      appAddress: this.cloud.url,
      credentials: token === undefined
        ? undefined
        : { type: "access-token", payload: new Secret(token) },
      log: memoryLogger("machine"),
    });
    this.#connections.push(connection);
    return connection.client(AccountService);
  }

  get keyEnv(): Record<string, string> {
    const { api_key_id, api_key } = this.made;
    return { MACHINE_CLOUD_API_KEY_ID: api_key_id, MACHINE_CLOUD_API_KEY: api_key };
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  async write(name: string, value: unknown): Promise<string> {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    await Deno.writeTextFile(this.path(name), text);
    return this.path(name);
  }

  /** Runs a command line. Throws what it throws. */
  async run(argv: readonly string[], options: RunOptions = {}): Promise<Printed> {
    return await runMachine(argv, {
      ...options,
      env: { MACHINE_CONFIG_DIR: join(this.dir, "settings"), ...options.env },
    });
  }

  /** The value that a command prints with `--json`. */
  // deno-lint-ignore no-explicit-any -- tests look into what each command has
  async json(...argv: string[]): Promise<any> {
    return JSON.parse((await this.run([...argv, "--json"])).out);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection.close();
    await this.cloud.close({ graceMs: 1_000 });
    await Deno.remove(this.dir, { recursive: true });
  }
}

/** Adds an owner to a folder that no cloud serves yet. @returns what a first password is set with */
async function linkForOwner(dataDir: string, email: string, orgId: string): Promise<string> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  try {
    return await addOwner(database.queries, { email, orgId }, deps) ?? "";
  } finally {
    database.close();
  }
}

/** Runs `machine` with nobody at a terminal, unless a test says otherwise. */
export async function runMachine(
  argv: readonly string[],
  { env = {}, deps: own = {}, terminal = NO_TERMINAL, onText }: RunOptions = {},
): Promise<Printed> {
  const printed = { out: "", err: "" };
  const read = (name: string) => env[name];
  const program = machineProgram({
    ...IDLE_DEPS,
    env: read,
    ...own,
  });
  await runCommandLine(argv, program, {
    ...{ clock: systemClock, random: systemRandom, terminal, env: read },
    write: (bytes) => {
      const text = new TextDecoder().decode(bytes);
      printed.out += text;
      onText?.(text);
      return Promise.resolve();
    },
    warn: (text) => void (printed.err += `${text}\n`),
  });
  return printed;
}
