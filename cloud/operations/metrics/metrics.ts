import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { Code } from "@connectrpc/connect";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";

/** What the metrics read when they are requested. */
export interface MetricsSources {
  /** Parts that keep a stream open. */
  readonly connectedMachines: () => number;
  /** Rows that wait, by queue. */
  readonly queueLengths: () => Promise<Readonly<Record<string, number>>>;
  /** Notifications that were finished since a time, milliseconds since 1970, by how they ended. */
  readonly finishedDeliveries: (sinceMs: number) => Promise<Readonly<Record<string, number>>>;
  /** Bytes of each database with its WAL. */
  readonly databaseBytes: () => Promise<Readonly<Record<string, number>>>;
  /** When the certificate of the cloud's own port ends; undefined without TLS. */
  readonly certificateEnd: () => Date | undefined;
  readonly version: string;
  readonly now: () => Date;
}

/** Seconds: from a call that reads one row to one that uploads a file. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
const LAG_EVERY_MS = 500;

/** What Prometheus scrapes. Labels are methods and codes that there are: callers cannot add any. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #calls: Counter<"method" | "code">;
  readonly #durations: Histogram<"method">;
  readonly #running: Gauge;
  readonly #deliveries: Counter<"state">;
  readonly #lag: Gauge;
  #lastDeliveriesMs: number;

  constructor(private readonly sources: MetricsSources) {
    const registers = [this.#registry];
    this.#lastDeliveriesMs = sources.now().getTime();
    this.#calls = new Counter({
      name: "machine_cloud_calls_total",
      help: "Calls that were answered, by method and code.",
      labelNames: ["method", "code"],
      registers,
    });
    this.#durations = new Histogram({
      name: "machine_cloud_call_duration_seconds",
      help: "Time from the headers of a call to its last message. Streams count for as long.",
      labelNames: ["method"],
      buckets: BUCKETS,
      registers,
    });
    this.#running = new Gauge({
      name: "machine_cloud_calls_running",
      help: "Calls that are under way, streams included.",
      registers,
    });
    this.#deliveries = new Counter({
      name: "machine_cloud_deliveries_total",
      help: "Notifications of triggers that were finished, by outcome.",
      labelNames: ["state"],
      registers,
    });
    this.#lag = new Gauge({
      name: "machine_cloud_event_loop_lag_seconds",
      help: "Longest delay of a timer since the last scrape.",
      registers,
    });
    this.#addGauges(registers);
  }

  /** Counts every call. */
  readonly interceptor: Interceptor = {
    before: () => this.#running.inc(),
    after: (call, { code, durationMs }) => {
      this.#running.dec();
      this.#calls.inc({ method: call.path, code: code === undefined ? "OK" : Code[code] ?? "?" });
      this.#durations.observe({ method: call.path }, durationMs / 1_000);
    },
  };

  /** Watches for delays of timers until the signal aborts. */
  watchLag(signal: AbortSignal): void {
    let due = performance.now() + LAG_EVERY_MS;
    let longest = 0;
    const timer = setInterval(() => {
      const now = performance.now();
      longest = Math.max(longest, (now - due) / 1_000);
      due = now + LAG_EVERY_MS;
      this.#lag.set(longest);
    }, LAG_EVERY_MS);
    this.#scraped = () => longest = 0;
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }
  #scraped: () => void = () => undefined;

  /** The text format of Prometheus. */
  async render(): Promise<Response> {
    const since = this.#lastDeliveriesMs;
    this.#lastDeliveriesMs = this.sources.now().getTime();
    const finished = await this.sources.finishedDeliveries(since);
    for (const [state, count] of Object.entries(finished)) this.#deliveries.inc({ state }, count);
    const text = await this.#registry.metrics();
    this.#scraped();
    return new Response(text, {
      headers: { "content-type": this.#registry.contentType, "cache-control": "no-store" },
    });
  }

  #addGauges(registers: Registry[]): void {
    const { sources } = this;
    const gauge = (
      name: string,
      help: string,
      read: () => Promise<number | undefined> | number | undefined,
    ) =>
      new Gauge({
        ...{ name, help, registers },
        async collect() {
          const value = await read();
          if (value === undefined) this.reset();
          else this.set(value);
        },
      });
    const byLabel = <L extends string>(
      name: string,
      help: string,
      label: L,
      read: () => Promise<Readonly<Record<string, number>>>,
    ) =>
      new Gauge({
        ...{ name, help, registers, labelNames: [label] },
        async collect() {
          this.reset();
          for (const [key, value] of Object.entries(await read())) {
            this.set({ [label]: key } as Record<L, string>, value);
          }
        },
      });
    gauge(
      "machine_cloud_connected_machines",
      "Machine parts that keep a stream open.",
      () => sources.connectedMachines(),
    );
    byLabel("machine_cloud_queue_length", "What waits, by queue.", "queue", sources.queueLengths);
    byLabel(
      "machine_cloud_database_bytes",
      "Size of a database with its write-ahead log.",
      "database",
      sources.databaseBytes,
    );
    gauge(
      "machine_cloud_certificate_end_timestamp_seconds",
      "When the certificate of the cloud's own port expires.",
      () => secondsOf(sources.certificateEnd()),
    );
    gauge("process_resident_memory_bytes", "Resident memory.", () => Deno.memoryUsage().rss);
    gauge("process_heap_bytes", "Memory of JavaScript objects.", () => Deno.memoryUsage().heapUsed);
    gauge("process_open_fds", "Open file descriptors.", openDescriptors);
    new Counter({
      name: "process_cpu_seconds_total",
      help: "Processor time, user and system.",
      registers,
      async collect() {
        const seconds = await cpuSeconds();
        this.reset();
        if (seconds !== undefined) this.inc(seconds);
      },
    });
    const started = sources.now().getTime() / 1_000;
    gauge("process_start_time_seconds", "When the process started.", () => started);
    new Gauge({
      name: "machine_cloud_info",
      help: "The version in its label.",
      labelNames: ["version"],
      registers,
    }).set({ version: sources.version }, 1);
  }
}

function secondsOf(time: Date | undefined): number | undefined {
  return time && time.getTime() / 1_000;
}

/** Linux only. */
async function openDescriptors(): Promise<number | undefined> {
  if (Deno.build.os !== "linux") return undefined;
  let count = 0;
  for await (const _ of Deno.readDir("/proc/self/fd")) count++;
  return count;
}

/** Ticks of a hundredth of a second on every Linux of today. */
const TICKS_PER_SECOND = 100;

async function cpuSeconds(): Promise<number | undefined> {
  if (Deno.build.os !== "linux") return undefined;
  const stat = await Deno.readTextFile("/proc/self/stat");
  // After the name of the program, which may have blanks: state is the first field.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
