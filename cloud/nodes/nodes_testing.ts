import { type Clock, systemClock } from "../../shared/base/time/clock.ts";
import { type MemoryLogger, memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import { parsePostgresAddress } from "../storage/postgres/address.ts";
import { PostgresDatabase } from "../storage/postgres/postgres_database.ts";
import { joinNodes } from "./join_nodes.ts";
import type { NodeChange, Nodes } from "./nodes.ts";

/** A node, with what it saw of the others. */
export interface TestNode {
  readonly nodes: Nodes;
  readonly database: PostgresDatabase;
  readonly changes: NodeChange[];
  readonly log: MemoryLogger;
}

/** Nodes in this process, each with connections of its own to one PostgreSQL. For tests. */
export class NodesRig implements AsyncDisposable {
  readonly #nodes: TestNode[] = [];

  private constructor(readonly server: PostgresServer) {}

  static async start(): Promise<NodesRig> {
    return new NodesRig(await PostgresServer.start());
  }

  /** @param clock one that does not move is a process that stands still */
  async join(clock: Clock = systemClock): Promise<TestNode> {
    const address = parsePostgresAddress(this.server.address("pool=4"), "/data");
    const database = await PostgresDatabase.open(address);
    const log = memoryLogger("node");
    const self = { host: "host", address: "127.0.0.1:1", version: "1" };
    const nodes = await joinNodes(database, self, { clock, log });
    const changes: NodeChange[] = [];
    nodes.listen((change) => changes.push(change));
    const node = { nodes, database, changes, log };
    this.#nodes.push(node);
    return node;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { nodes, database } of this.#nodes) {
      await nodes.close();
      await database.close();
    }
    await this.server[Symbol.asyncDispose]();
  }
}
