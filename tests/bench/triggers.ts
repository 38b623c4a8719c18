import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import type { Program } from "../e2e/program.ts";
import { Rig } from "../e2e/rig.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";

const SYNCS = 1_000;
const SYNC_EVERY_MS = 20;
/** 10 triggers with 10 receivers each; one trigger fires every 20 ms: 500 deliveries a second. */
const COMPONENTS = 10;
const RECEIVERS = 10;
/** Started processes and caches are warm after these. */
const WARM_UP = 50;

/** Data synced → webhook received: from before the call that brings the data. */
export async function benchTriggerLatency(reporter: Reporter): Promise<void> {
  reporter.note(`${SYNCS} syncs, each with a webhook …`);
  await using receivers = new Receivers(0);
  const condition = { evals: [{ operator: "gte", value: { n: 0 } }] };
  await using bench = await Bench.start([
    trigger(0, [{ type: "webhook", value: receivers.url(0, 0) }], condition),
  ]);
  const latencies = await bench.sync(SYNCS + WARM_UP, 1, receivers, 1);
  reporter.report("data_to_webhook_p50", percentile(latencies, 0.5), "ms");
  reporter.report("data_to_webhook_p99", percentile(latencies, 0.99), "ms");
}

/** Syncs of one run, 20 s: longer than a request to a dead receiver may take. */
const DELIVERY_SYNCS = 1_000;
/** Runs with none dead and with one dead, in turn: other work on the host meets both. */
const DELIVERY_RUNS = 3;

/** 500 deliveries a second to 100 receivers, with none and with one of them dead. */
export async function benchDeadReceivers(reporter: Reporter): Promise<void> {
  const seconds = DELIVERY_SYNCS * SYNC_EVERY_MS / 1_000;
  const runs: Record<"none_dead" | "1_percent_dead", DeliveryRun[]> = {
    none_dead: [],
    "1_percent_dead": [],
  };
  for (let n = 0; n < DELIVERY_RUNS; n++) {
    for (const [name, done] of Object.entries(runs)) {
      const dead = name === "none_dead" ? 0 : 1;
      reporter.note(`500 deliveries/s for ${seconds} s, ${dead} of 100 receivers dead …`);
      const run = await deliveryRun(dead);
      reporter.note(JSON.stringify(run));
      done.push(run);
    }
  }
  for (const [name, done] of Object.entries(runs)) {
    const middle = (of: (run: DeliveryRun) => number) => percentile(done.map(of), 0.5);
    reporter.report(`deliveries_${name}`, middle((run) => run.perSecond), "deliveries/s");
    reporter.report(`delivery_cpu_${name}`, middle((run) => run.processorMs), "ms/delivery");
    reporter.report(`delivery_p50_${name}`, middle((run) => run.p50), "ms");
    reporter.report(`delivery_p99_${name}`, middle((run) => run.p99), "ms");
  }
}

interface DeliveryRun {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Of the cloud for each delivery: syncs, triggers and requests. */
  readonly processorMs: number;
}

async function deliveryRun(dead: number): Promise<DeliveryRun> {
  await using receivers = new Receivers(dead);
  const triggers = Array.from({ length: COMPONENTS }, (_, component) =>
    trigger(
      component,
      Array.from({ length: RECEIVERS }, (_, receiver) => ({
        type: "webhook",
        value: receivers.url(component, receiver),
      })),
    ));
  await using bench = await Bench.start(triggers);
  const started = performance.now();
  const startedCpu = await bench.processorMs();
  const latencies = await bench.sync(DELIVERY_SYNCS, COMPONENTS, receivers, RECEIVERS);
  const spent = (performance.now() - started) / 1_000;
  return {
    perSecond: latencies.length / spent,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    processorMs: (await bench.processorMs() - startedCpu) / latencies.length,
  };
}

function trigger(component: number, notifications: JsonObject[], conditions: JsonObject = {}) {
  return {
    name: `t${component}`,
    event: {
      type: "conditional_data_ingested",
      conditional: { data_capture_method: `sensor:s${component}:Readings`, conditions },
    },
    notifications,
  };
}

/** Receivers of webhooks in this process; dead ones take a connection and never answer. */
class Receivers implements AsyncDisposable {
  readonly #sentAt = new Map<number, number>();
  readonly #latencies: number[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #dead = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #hanging: Deno.Conn[] = [];
  readonly #accepting: Promise<void>;

  constructor(private readonly deadCount: number) {
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
    this.#server = Deno.serve(options, async (request) => {
      const now = performance.now();
      const body = await request.json() as { data: { data: { readings: { n: number } } } };
      const { n } = body.data.data.readings;
      const sentAt = this.#sentAt.get(n);
      if (n >= WARM_UP && sentAt !== undefined) this.#latencies.push(now - sentAt);
      return new Response();
    });
    this.#accepting = this.#accept();
  }

  url(component: number, receiver: number): string {
    const isDead = component * RECEIVERS + receiver < this.deadCount;
    const { port } = isDead ? this.#dead.addr : this.#server.addr;
    return `http://127.0.0.1:${port}/c${component}/r${receiver}`;
  }

  sent(n: number): void {
    this.#sentAt.set(n, performance.now());
  }

  async latencies(count: number): Promise<readonly number[]> {
    const what = `${count} webhooks (${this.#latencies.length} came)`;
    await waitFor(() => this.#latencies.length >= count, { deadlineMs: 60_000, what });
    return this.#latencies;
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#dead) this.#hanging.push(connection);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#dead.close();
    await this.#accepting.catch(() => undefined);
    for (const connection of this.#hanging) connection.close();
    await this.#server.shutdown();
  }
}

/** A cloud with a machine that syncs. */
class Bench implements AsyncDisposable {
  private constructor(
    private readonly rig: Rig,
    private readonly grpc: GrpcClient,
    private readonly client: Client<typeof DataSyncService>,
    private readonly cloud: Program,
  ) {}

  static async start(triggers: JsonObject[]): Promise<Bench> {
    const rig = await Rig.create();
    await rig.bootstrap({ triggers });
    const cloud = await rig.startCloud(["--allow-private-webhooks"]);
    const session = await signIn(rig.cloudUrl, {
      type: "robot-secret",
      id: rig.partId,
      key: rig.bootstrapped.part_secret,
    });
    const grpc = new GrpcClient(rig.cloudUrl, session.accessToken);
    return new Bench(rig, grpc, grpc.client(DataSyncService), cloud);
  }

  /** Syncs at a steady pace, one component after the other; gives back how long webhooks took. */
  async sync(
    count: number,
    components: number,
    receivers: Receivers,
    webhooksEach: number,
  ): Promise<readonly number[]> {
    const calls: Promise<unknown>[] = [];
    const startMs = performance.now();
    for (let n = 0; n < count; n++) {
      await systemClock.sleep(startMs + n * SYNC_EVERY_MS - performance.now());
      receivers.sent(n);
      calls.push(this.#sync(n, n % components));
    }
    await Promise.all(calls);
    const dead = Math.ceil((count - WARM_UP) / components);
    const expected = (count - WARM_UP) * webhooksEach;
    return await receivers.latencies(expected - (webhooksEach > 1 ? dead : 0));
  }

  /** Processor time of the cloud so far. */
  async processorMs(): Promise<number> {
    const stat = await Deno.readTextFile(`/proc/${this.cloud.pid}/stat`);
    const fields = stat.slice(stat.lastIndexOf(")")).split(" ");
    // User and system time in ticks of 10 ms.
    return (Number(fields[12]) + Number(fields[13])) * 10;
  }

  async #sync(n: number, component: number): Promise<void> {
    const time = timestampFromMs(Date.now());
    await this.client.dataCaptureUpload({
      metadata: {
        partId: this.rig.partId,
        componentType: "rdk:component:sensor",
        componentName: `s${component}`,
        methodName: "Readings",
        type: DataType.TABULAR_SENSOR,
      },
      sensorContents: [{
        metadata: { timeRequested: time, timeReceived: time },
        data: { case: "struct", value: { readings: { n } } },
      }],
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.grpc[Symbol.dispose]();
    await this.rig[Symbol.asyncDispose]();
  }
}
