import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import type { Bootstrapped } from "../../tools/run/demo.ts";
import { programPath } from "../../tools/run/options.ts";
import { Program } from "../e2e/program.ts";
import { S3Server } from "../object_storage/s3_server.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { Balancer } from "./balancer.ts";

export const DEADLINE = { deadlineMs: 180_000 };
const CALL_MS = 10_000;
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PROGRAM = programPath("machine-cloud", { binaries: undefined }, ROOT);

/** Two processes on one PostgreSQL and one object storage, behind a balancer. */
export class Cluster implements AsyncDisposable {
  readonly #programs = new Map<number, Program>();
  /** What nodes are started from now on. */
  command = PROGRAM;
  readonly ports = [freePort(), freePort()] as const;
  balancer!: Balancer;
  made!: Bootstrapped;

  private constructor(
    readonly dir: string,
    readonly database: PostgresServer,
    readonly objects: S3Server,
    private readonly options: readonly string[],
  ) {}

  /**
   * @param options of `serve`, beyond what both need
   * @param command machine-cloud of another version
   */
  static async start(options: readonly string[], command = PROGRAM): Promise<Cluster> {
    const cluster = new Cluster(
      await Deno.makeTempDir({ prefix: "machine-cluster-" }),
      await PostgresServer.start(),
      await S3Server.start(),
      options,
    );
    cluster.command = command;
    cluster.balancer = await Balancer.start(cluster.ports);
    const run = await new Deno.Command(command, {
      args: [
        ...["bootstrap", "--data", cluster.folder(0), "--org", "Test", "--location", "Lab"],
        ...["--machine", "bench", "--public-url", cluster.url],
      ],
      env: cluster.env,
    }).output();
    assert.ok(run.success, new TextDecoder().decode(run.stderr));
    cluster.made = JSON.parse(new TextDecoder().decode(run.stdout));
    await Deno.mkdir(cluster.folder(1), { mode: 0o700 });
    await Deno.copyFile(join(cluster.folder(0), "cloud.key"), join(cluster.folder(1), "cloud.key"));
    for (const node of [0, 1]) cluster.run(node);
    await waitFor(() => cluster.balancer.ready.size === 2, DEADLINE);
    return cluster;
  }

  get url(): string {
    return `http://127.0.0.1:${this.balancer.port}`;
  }

  get env(): Record<string, string> {
    return { ...this.objects.env, MACHINE_CLOUD_DATABASE: this.database.address("pool=4") };
  }

  folder(node: number): string {
    return join(this.dir, `${node}`);
  }

  program(node: number): Program {
    const program = this.#programs.get(node);
    assert.ok(program);
    return program;
  }

  run(node: number): void {
    this.#programs.set(
      node,
      Program.start({
        name: `node ${node}`,
        command: this.command,
        args: [
          ...["serve", "--cluster", "--listen", `127.0.0.1:${this.ports[node]}`],
          ...["--data", this.folder(node), "--public-url", this.url],
          ...["--blob-store", "s3://machines", ...this.options],
        ],
        env: this.env,
      }),
    );
  }

  /** The node that leads by what the database says. */
  async leader(): Promise<number> {
    const address = await this.database.query(
      `select address from machine_cloud.nodes join machine_cloud.node_leader on id = node_id`,
    );
    const node = this.ports.findIndex((port) => address.endsWith(`:${port}`));
    assert.ok(node >= 0, address);
    return node;
  }

  /**
   * One call as JSON.
   *
   * @param node that is asked; left out: any, by the balancer
   * @throws when it was not acknowledged
   */
  async call(
    method: string,
    token: string | undefined,
    body: object,
    node?: number,
  ): Promise<unknown> {
    const url = node === undefined ? this.url : `http://127.0.0.1:${this.ports[node]}`;
    const response = await fetch(`${url}/${method}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        connection: "close",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_MS),
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    throw new CallError(response.status, text);
  }

  /** Again and again until it is acknowledged, as machines do. */
  async insist(method: string, token: string | undefined, body: object): Promise<unknown> {
    const endMs = performance.now() + DEADLINE.deadlineMs;
    for (;;) {
      try {
        return await this.call(method, token, body);
      } catch (error) {
        // What is wrong with the call itself stays wrong.
        if (error instanceof CallError && error.isFinal) throw error;
        if (performance.now() > endMs) throw error;
        await sleep(200);
      }
    }
  }

  async token(type: string, entity: string, payload: string): Promise<string> {
    const body = { entity, credentials: { type, payload } };
    const answer = await this.insist("proto.rpc.v1.AuthService/Authenticate", undefined, body);
    return (answer as { accessToken: string }).accessToken;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs.values()) program.signal("SIGCONT");
    await Promise.all([...this.#programs.values()].map((program) => program.stop(60_000)));
    await this.balancer[Symbol.asyncDispose]();
    await this.objects[Symbol.asyncDispose]();
    await this.database[Symbol.asyncDispose]();
    await Deno.remove(this.dir, { recursive: true });
  }
}

/** A call that was answered, and not acknowledged. */
export class CallError extends Error {
  constructor(readonly status: number, text: string) {
    super(`${status}: ${text}`);
  }

  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 408 && this.status !== 429 &&
      !/canceled|aborted|resource_exhausted/.test(this.message);
  }
}
