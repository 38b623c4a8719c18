import type { Clock } from "../../shared/base/time/clock.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { CloudDatabase } from "../storage/database/cloud_database.ts";
import type { NodeDescription } from "../storage/database/node_store.ts";
import { LocalNodes, type Nodes } from "./nodes.ts";
import { SharedNodes } from "./shared_nodes.ts";

/**
 * Joins the nodes that serve a database; with SQLite there is no other one.
 *
 * @throws {DatabaseUnreachableError}
 */
export async function joinNodes(
  database: Pick<CloudDatabase, "nodes">,
  self: Omit<NodeDescription, "id">,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<Nodes> {
  const store = database.nodes();
  if (!store) return new LocalNodes(log, { ...self, id: "local" });
  return await SharedNodes.join({ store, self: { ...self, id: store.processId }, clock, log });
}
