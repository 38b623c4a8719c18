import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Mailbox } from "../../api/streams/mailbox.ts";
import { NodeBroadcast } from "../../nodes/node_broadcast.ts";
import type { Nodes } from "../../nodes/nodes.ts";

interface Told {
  readonly orgId: string;
  readonly machineId: string;
}

const TOPIC = "changed-machines";
/** What changes within this time is one message to the other nodes. */
const TELL_MS = 100;
/** Machines that wait for one who follows; older ones are left out. */
const WAITING = 1_000;

/**
 * Which machines came, went, or got another name, tags or place, for those who show the fleet. Hints:
 * one may be lost, so who follows also reads the whole fleet from time to time.
 */
export class ChangedMachines {
  readonly #byOrganization = new Map<string, Set<Mailbox<string>>>();
  #shared: NodeBroadcast<Told> | undefined;

  /** Call it when the change can be read. */
  add(orgId: string, ...machineIds: readonly string[]): void {
    for (const machineId of machineIds) {
      const told = { orgId, machineId };
      this.#tell(told);
      this.#shared?.send(machineId, () => told, TELL_MS);
    }
  }

  /** Ids of machines of an organisation that change from now on. Close the mailbox when done. */
  follow(orgId: string): Mailbox<string> {
    const all = this.#byOrganization.get(orgId) ?? new Set();
    this.#byOrganization.set(orgId, all);
    const mailbox = new Mailbox<string>(WAITING, () => {
      all.delete(mailbox);
      if (all.size === 0 && this.#byOrganization.get(orgId) === all) {
        this.#byOrganization.delete(orgId);
      }
    });
    all.add(mailbox);
    return mailbox;
  }

  /** Has those who follow on other nodes learn of it, too, until the result is disposed of. */
  share(nodes: Nodes, { clock, log }: { clock: Clock; log: Logger }): AsyncDisposable {
    this.#shared = new NodeBroadcast<Told>({
      topic: TOPIC,
      all: () => [],
      heard: (all) => {
        for (const told of all) this.#tell(told);
      },
      gone: () => undefined,
      ...{ nodes, clock, log },
    });
    return this.#shared;
  }

  #tell({ orgId, machineId }: Told): void {
    for (const mailbox of this.#byOrganization.get(orgId) ?? []) mailbox.put(machineId);
  }
}
