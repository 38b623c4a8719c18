import type { ColumnType, Generated } from "kysely";

/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** Nodes that serve, or did until a moment ago. Times are those of the database. */
export interface NodesTable {
  id: Fixed<string>;
  /** Name of its host. */
  host: string;
  /** Where it listens. */
  address: string;
  /** Of the program. */
  version: string;
  joined_at: number;
  /** When it was there last, milliseconds since 1970. */
  seen_at: number;
}

/** What nodes send each other, for some minutes. */
export interface NodeMessagesTable {
  seq: Generated<number>;
  sender: Fixed<string>;
  /** Null: every node. */
  target: Fixed<string | null>;
  topic: Fixed<string>;
  payload: Fixed<string>;
  /** Microseconds since 1970, of the database. */
  created_at: Fixed<number>;
}

/** One row: who leads. */
export interface NodeLeaderTable {
  place: Fixed<1>;
  /** Empty: nobody yet. */
  node_id: string;
  /** One more with each change of the leader. */
  term: number;
}

export interface NodeTables {
  nodes: NodesTable;
  node_messages: NodeMessagesTable;
  node_leader: NodeLeaderTable;
}
