import type { Logger } from "../../shared/log/logger.ts";
import { datagramsTo, type SendDatagram } from "./notify_socket.ts";
import { noServiceManager, type ServiceManager } from "./service_manager.ts";

export interface SystemdOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly pid: number;
  readonly log: Logger;
  /** Default: the C library's. @throws when it cannot be opened. */
  readonly open?: (address: string) => SendDatagram;
  /** Default: the program `systemd-notify`. */
  readonly fallback?: SendDatagram;
}

/** The variables of systemd that are meant for this process alone; no child may speak for it. */
export const OWN_VARIABLES = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] as const;

/** As they are sent: a text that cannot be sent holds up nothing else. */
const KINDS = ["READY", "WATCHDOG", "STOPPING", "STATUS"] as const;
type Kind = typeof KINDS[number];

/** The service manager that started this process, as its environment names it. */
export function systemdManager(options: SystemdOptions): ServiceManager {
  const { env, pid, log } = options;
  const address = env["NOTIFY_SOCKET"];
  if (!address) return noServiceManager;
  const send = sender(address, options);
  let isBroken = false;
  // What could not be sent, the newest of each kind. A busy systemd takes no more than ten datagrams
  // in advance; without READY=1 it would end an agent that works when the time to start is over.
  const owed = new Map<Kind, string>();
  const tell = (kind: Kind, value: string) => {
    owed.set(kind, value);
    try {
      for (const name of KINDS) {
        const text = owed.get(name);
        if (text === undefined) continue;
        send(`${name}=${text}`);
        owed.delete(name);
      }
      isBroken = false;
    } catch (error) {
      // Once, and again when it had worked in between: the watchdog reports every few seconds.
      if (!isBroken) log.warn("cannot notify the service manager", { error });
      isBroken = true;
    }
    // Of this moment: sent later, it would keep an agent that is stuck by then.
    owed.delete("WATCHDOG");
  };
  return {
    ready: () => tell("READY", "1"),
    stopping: () => tell("STOPPING", "1"),
    status: (text) => tell("STATUS", text.replaceAll(/\s+/g, " ").trim()),
    alive: () => tell("WATCHDOG", "1"),
    watchdogMs: watchdogMs(env, pid),
  };
}

function sender(address: string, options: SystemdOptions): SendDatagram {
  const { pid, log, open = datagramsTo, fallback = notifyProgram(pid) } = options;
  try {
    return open(address);
  } catch (error) {
    log.debug("the service manager is notified through systemd-notify", { error });
    return fallback;
  }
}

/** `systemd-notify` speaks for us: systemd lets root name another process. */
function notifyProgram(pid: number): SendDatagram {
  return (text) => {
    const { success } = new Deno.Command("systemd-notify", {
      args: [`--pid=${pid}`, text],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).outputSync();
    if (!success) throw new Error("systemd-notify failed");
  };
}

/** Undefined also when the watchdog is meant for another process. */
function watchdogMs(env: Readonly<Record<string, string>>, pid: number): number | undefined {
  const { WATCHDOG_USEC: usec = "", WATCHDOG_PID: of = String(pid) } = env;
  return /^[1-9]\d*$/.test(usec) && of === String(pid) ? Number(usec) / 1000 : undefined;
}
