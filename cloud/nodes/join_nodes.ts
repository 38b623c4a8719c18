import type { Clock } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { CloudDatabase } from "../storage/database/cloud_database.ts";
import type { NodeDescription } from "../storage/database/node_store.ts";
import { LocalNodes, type Nodes } from "./nodes.ts";
import type { SharedClock } from "./shared_clock.ts";
import { SharedNodes } from "./shared_nodes.ts";

/**
 * Joins the nodes that serve a database; with SQLite there is no other one.
 *
 * @param time shows the time of the database from then on
 * @throws {DatabaseUnreachableError}
 */
export async function joinNodes(
  database: Pick<CloudDatabase, "nodes">,
  self: Omit<NodeDescription, "id">,
  { clock, time, log }: {
    readonly clock: Clock;
    readonly time?: SharedClock;
    readonly log: Logger;
  },
): Promise<Nodes> {
  const store = database.nodes();
  if (!store) return new LocalNodes(log, { ...self, id: "local" });
  const own = { ...self, id: store.processId };
  return await SharedNodes.join({ store, self: own, clock, time, log });
}
