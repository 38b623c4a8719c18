import { toError } from "../../../shared/base/errors/to_error.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import { anyChange } from "../../../shared/workers/watched.ts";
import { DBusCallError, DBusTimeout } from "../../dbus/system_bus.ts";
import { NetworkManager, NoNetworkManager } from "../manager/network_manager.ts";
import { NetworkStore } from "../store/network_store.ts";
import { noNetworks } from "../report/network_report.ts";
import type { NetworkDeps } from "./network_deps.ts";
import { NetworkSession } from "./network_session.ts";

const RETRY = { minMs: 2_000, maxMs: 60_000 };

/**
 * Tends the machine's networks until the signal is aborted, or the settings say that they are to be
 * left alone. NetworkManager and the message bus may come, go and come back.
 */
export async function tendNetworks(deps: NetworkDeps, signal: AbortSignal): Promise<void> {
  const { clock, current } = deps;
  const backoff = new Backoff({ ...RETRY, jitter: false });
  let told = "";
  while (!current.value.settings.advanced_settings.disable_network_configuration) {
    const startedMs = clock.monotonicMs();
    const reason = await oneSession(deps, signal);
    if (reason === undefined) return;
    signal.throwIfAborted();
    if (clock.monotonicMs() - startedMs > RETRY.maxMs) backoff.reset();
    tellAway(deps, reason, reason !== told);
    told = reason;
    await anyChange([current], signal, { clock, ms: backoff.next() });
  }
}

/** @returns why it ended; undefined: as it was to. */
async function oneSession(deps: NetworkDeps, signal: AbortSignal): Promise<string | undefined> {
  const { openBus, db, bootClock, log } = deps;
  const ending = linkedController(signal);
  let bus: Awaited<ReturnType<typeof openBus>> | undefined;
  try {
    bus = await openBus();
    void bus.closed.then(() => ending.abort());
    const manager = await NetworkManager.open(bus);
    log.info("networks are tended", { networkManager: manager.version });
    await new NetworkSession(manager, new NetworkStore(db, bootClock), deps).run(ending.signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NoNetworkManager) return error.message;
    if (bus === undefined) return `${messageOf(error)}; networks need D-Bus and NetworkManager`;
    if (ending.signal.aborted) return "the message bus went away";
    log.debug("the networks' session failed", { error });
    const isDBus = error instanceof DBusTimeout || error instanceof DBusCallError;
    return `${isDBus ? "NetworkManager does not answer" : "internal error"}: ${messageOf(error)}`;
  } finally {
    ending.abort();
    bus?.close();
  }
}

function tellAway({ report, current, clock, log }: NetworkDeps, reason: string, isNew: boolean) {
  if (!isNew) return;
  const next = noNetworks(current.value.settings, "unavailable", reason, clock.now());
  report.value = next;
  if (next.problems.length > 0) { for (const problem of next.problems) log.warn(problem); }
  else log.info("networks are not tended", { reason });
}

const messageOf = (error: unknown) => toError(error).message;
