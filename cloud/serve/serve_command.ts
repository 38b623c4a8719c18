import { processMemory, releaseIdleMemory } from "../../shared/base/memory/idle_memory.ts";
import { isLoopback } from "../api/addresses/addresses.ts";
import { type CloudDeps, type CloudOptions, startCloud } from "./cloud.ts";
import { DataFolderInUseError } from "../storage/data_folder/serve_lock.ts";
import { bearRuntimeFaults } from "./runtime_faults.ts";
import type { ServeFlags } from "./serve_flags.ts";

/** How long running calls may take when the cloud shuts down. */
const GRACE_MS = 5_000;
/** How long other nodes may take to get its clients, half of it until load balancers know. */
const DRAIN_MS = 10_000;

/** Serves until the signal aborts. */
export async function runServe(
  flags: ServeFlags,
  options: CloudOptions,
  deps: CloudDeps,
  signal: AbortSignal,
): Promise<void> {
  const { log } = deps;
  bearRuntimeFaults(log);
  const cloud = await startCloud(options, deps);
  for (const warning of startWarnings(options, cloud.url)) {
    log.warn(warning, { listen: flags.listen });
  }
  log.info("serving", { url: cloud.url, data: options.dataDir, event: "cloud_ready" });
  void releaseIdleMemory({ memory: processMemory, clock: deps.clock }, signal).catch(() =>
    undefined
  );
  const stopped = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => stopped.resolve(), { once: true });
  if (signal.aborted) stopped.resolve();
  const isLost = await Promise.race([
    stopped.promise.then(() => false),
    cloud.lost.then(() => true),
  ]);
  log.info("stopping", { event: "cloud_stopping" });
  await cloud.close({ graceMs: GRACE_MS, drainMs: DRAIN_MS });
  log.info("stopped", { event: "cloud_stopped" });
  if (isLost) {
    throw new DataFolderInUseError(
      "the connection to the database was lost, and another machine-cloud serves it now",
    );
  }
}

/** What works, but hardly as it was meant. */
export function startWarnings(
  { tls, listen, training }: Pick<CloudOptions, "tls" | "listen" | "training">,
  url: string,
): string[] {
  const warnings: string[] = [];
  if (!tls && !isLoopback(listen)) {
    warnings.push("listening without TLS beyond this host: keys travel in clear");
  }
  if (training?.engine !== undefined && isLoopback({ hostname: new URL(url).hostname, port: 0 })) {
    warnings.push(
      `training scripts in containers cannot call the cloud at ${url}, which is the container ` +
        "itself there: name an address that they reach with --public-url",
    );
  }
  return warnings;
}
