/** The announcer with this host's network; loaded when the machine serves. */
import { hostname, networkInterfaces } from "node:os";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { MachineAnnouncer } from "./machine_announcer.ts";
import { multicastSockets } from "./multicast_socket.ts";

/** Announces nothing before it knows what. */
export function openAnnouncer({ clock, log }: { clock: Clock; log: Logger }): MachineAnnouncer {
  return new MachineAnnouncer({
    interfaces: networkInterfaces,
    hostname: hostname(),
    open: multicastSockets(),
    clock,
    random: Math.random,
    log,
  });
}
