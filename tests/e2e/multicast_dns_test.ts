// Machines that are found by name, by a client of another make, on a network of two hosts in
// namespaces of this one. Where there can be no such network, it is skipped.
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ignoreBecause, missingTools } from "../../shared/test_tools/skips.ts";
import { programPath } from "../../tools/run/options.ts";
import { Program } from "./program.ts";
import { ensurePythonSdk } from "./python_sdk.ts";
import { eventually, READY_LINE } from "./rig.ts";
import { type NetworkComputer, noNetworkBecause, SmallNetwork } from "./small_network.ts";
import { LONG_MS, runToEnd } from "./run_to_end.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const INSTALLER = join(ROOT, "tools/zeroconf.sh");
const DIALER = fileURLToPath(new URL("dial_by_name.py", import.meta.url));
const FINDER = fileURLToPath(new URL("find_machines.py", import.meta.url));
const DEADLINE_MS = 90_000;
/** 5353 in the tables of the system. */
const MDNS_PORT = /^\s*\d+: \w+:14E9 /;
const GIVEN = { fqdn: "main.lab.example" };

interface Found {
  readonly event: "add" | "update" | "remove";
  readonly name: string;
  readonly host?: string;
  readonly port?: number;
  readonly addresses?: string[];
  readonly properties?: string[];
}

class Rig implements AsyncDisposable {
  readonly #programs: Program[] = [];

  private constructor(
    readonly network: SmallNetwork,
    readonly dir: string,
    private readonly python: string,
  ) {}

  static async create(): Promise<Rig> {
    const installed = await runToEnd("sh", {
      args: [INSTALLER],
      stderr: "inherit",
      limitMs: LONG_MS,
    });
    assert.ok(installed.success, "zeroconf could not be installed");
    const python = new TextDecoder().decode(installed.stdout).trim();
    const dir = await Deno.makeTempDir({ prefix: "machine-mdns-" });
    return new Rig(await SmallNetwork.create(), dir, python);
  }

  /** A server of a local configuration; `network` of it can be written again. */
  async server(
    on: NetworkComputer,
    network: Record<string, unknown>,
    ...options: string[]
  ): Promise<Program> {
    const config = await this.configure(on, network);
    const server = this.start(on, "machine-server", [
      programPath("machine-server", { binaries: Deno.env.get("MACHINE_TEST_BINARIES") }, ROOT),
      ...["-config", config, ...options],
    ]);
    await server.waitForLine(READY_LINE, DEADLINE_MS);
    return server;
  }

  async configure(on: NetworkComputer, network: Record<string, unknown>): Promise<string> {
    const config = join(this.dir, `${on.name}.json`);
    await Deno.writeTextFile(config, JSON.stringify({ network }));
    return config;
  }

  async finder(on: NetworkComputer): Promise<Finder> {
    const program = this.start(on, "finder", [this.python, FINDER]);
    await program.waitForLine(/^looking$/, DEADLINE_MS);
    return new Finder(program);
  }

  async takePort(on: NetworkComputer): Promise<void> {
    const program = this.start(on, "another program", [this.python, FINDER, "take-port"]);
    await program.waitForLine(/^taken$/, DEADLINE_MS);
  }

  /** How many sockets have the port of multicast DNS. */
  async sockets(on: NetworkComputer): Promise<number> {
    const table = await this.network.output(on, "cat", "/proc/net/udp");
    return table.split("\n").filter((line) => MDNS_PORT.test(line)).length;
  }

  outputs(): string {
    return this.#programs.map((one) => `--- ${one.name}\n${one.tail(40)}`).join("\n");
  }

  /** Starts a program that is stopped with the rig. */
  start(on: NetworkComputer, name: string, command: string[]): Program {
    const [program = "", ...args] = [...on.run, ...command];
    const env = { MACHINE_HOME: join(this.dir, on.name), PYTHONDONTWRITEBYTECODE: "1" };
    const started = Program.start({ name: `${name} on ${on.name}`, command: program, args, env });
    this.#programs.push(started);
    return started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs) await program.stop(5_000);
    await this.network[Symbol.asyncDispose]();
    await Deno.remove(this.dir, { recursive: true });
  }
}

class Finder {
  #read = 0;
  constructor(private readonly program: Program) {}

  /** The next event that fits; those before it are gone. */
  async next(what: string, fits: (found: Found) => boolean): Promise<Found> {
    return await eventually(what, () => {
      for (const line of this.program.lines.slice(this.#read)) {
        this.#read++;
        if (!line.startsWith("{")) continue;
        const found = JSON.parse(line) as Found;
        if (fits(found)) return Promise.resolve(found);
      }
      return Promise.resolve(undefined);
    }, DEADLINE_MS);
  }
}

const ignore = ignoreBecause(
  import.meta.url,
  missingTools("python") ?? await noNetworkBecause(),
);

function networkTest(name: string, body: (rig: Rig) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      await using rig = await Rig.create();
      try {
        await body(rig);
      } catch (error) {
        process.stderr.write(`${rig.outputs()}\n`);
        throw error;
      }
    },
  });
}

networkTest(
  "a machine is found by its names, at another port too, and says farewell",
  async (rig) => {
    const { first, second } = rig.network;
    const finder = await rig.finder(second);
    const server = await rig.server(first, { ...GIVEN, bind_address: "0.0.0.0:8080" });
    const names = ["main-lab-example", "main.lab.example"];
    for (const _ of names) {
      const found = await finder.next("the machine", ({ event }) => event === "add");
      assert.ok(names.includes(found.name), found.name);
      assert.deepEqual(found, {
        event: "add",
        name: found.name,
        host: `${found.name}.local.`,
        port: 8080,
        addresses: [first.address],
        properties: ["grpc", "webrtc"],
      });
    }
    await rig.configure(first, { ...GIVEN, bind_address: "0.0.0.0:8099" });
    await finder.next("the end of the old port", ({ event }) => event === "remove");
    await finder.next("the new port", ({ port }) => port === 8099);
    server.signal("SIGTERM");
    await finder.next("the farewell", ({ event }) => event === "remove");
    assert.equal((await server.waitForEnd()).code, 0);
  },
);

networkTest("two computers of one name are told apart", async (rig) => {
  const { first, second } = rig.network;
  const own = `${hostname().split(".")[0]!.toLowerCase().replace(/[^a-z0-9-]+/g, "-")}-8080`;
  await rig.server(first, { bind_address: ":8080" });
  const finder = await rig.finder(second);
  await finder.next("the first", ({ name }) => name === own);
  const other = await rig.server(second, { bind_address: ":8080" });
  const found = await finder.next(
    "the second",
    ({ name, addresses }) => name === `${own}-2` && addresses?.includes(second.address) === true,
  );
  assert.equal(found.port, 8080);
  assert.ok(other.lines.some((line) => line.includes("it takes another one")));
});

networkTest("a server of this host alone is told to nobody else", async (rig) => {
  const { first, second } = rig.network;
  const [near, far] = [await rig.finder(first), await rig.finder(second)];
  await rig.server(first, { ...GIVEN, bind_address: "localhost:8080" });
  const found = await near.next("the machine", ({ event }) => event === "add");
  assert.deepEqual(found.addresses, ["127.0.0.1"]);
  await rig.configure(first, { ...GIVEN, bind_address: `${first.address}:8080` });
  const seen = await far.next("the machine", ({ event }) => event === "add");
  assert.deepEqual(seen.addresses, [first.address]);
});

networkTest(
  "the published SDK reaches a machine by a name that no server of DNS knows",
  async (rig) => {
    const { first, second } = rig.network;
    const python = await ensurePythonSdk();
    const server = await rig.server(first, { ...GIVEN, bind_address: ":8080" });
    await server.waitForLine(/announced by multicast DNS/, DEADLINE_MS);
    const dialer = rig.start(second, "dialer", [python, DIALER, GIVEN.fqdn]);
    await dialer.waitForLine(/^resources:/, DEADLINE_MS);
  },
);

networkTest("-disable-mdns opens no socket", async (rig) => {
  const { first, second } = rig.network;
  await rig.server(first, { bind_address: ":8080" });
  const quiet = await rig.server(second, { bind_address: ":8080" }, "-disable-mdns");
  await eventually("the socket of the other", async () => await rig.sockets(first) === 1);
  await quiet.waitForLine(/configuration applied/, DEADLINE_MS);
  assert.equal(await rig.sockets(second), 0);
});

networkTest("a machine serves where another program has the port for itself", async (rig) => {
  const { first } = rig.network;
  await rig.takePort(first);
  const server = await rig.server(first, { bind_address: ":8080" });
  await server.waitForLine(/WARN.*cannot be announced by multicast DNS/, DEADLINE_MS);
  const page = await rig.network.output(first, "curl", "-s", "http://127.0.0.1:8080/");
  assert.match(page, /machine-server/);
  assert.equal(server.lines.filter((line) => line.includes("cannot be announced")).length, 1);
  assert.equal(server.hasExited, false);
});

networkTest("a machine follows its network adapter", async (rig) => {
  const { first, second } = rig.network;
  const server = await rig.server(first, { ...GIVEN, bind_address: "0.0.0.0:8080" }, "-debug");
  await server.waitForLine(/announced by multicast DNS.*eth0/, DEADLINE_MS);
  await rig.network.unplug(first);
  await server.waitForLine(/nothing can be announced on a link.*eth0/, DEADLINE_MS);
  const finder = await rig.finder(second);
  await rig.network.plugIn(first);
  const found = await finder.next("the machine", ({ event }) => event === "add");
  assert.deepEqual(found.addresses, [first.address]);
  assert.equal(server.hasExited, false);
});
