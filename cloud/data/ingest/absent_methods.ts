import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";

type AbsentMethod =
  | "getDatabaseConnection"
  | "configureDatabaseUser"
  | "createIndex"
  | "listIndexes"
  | "deleteIndex";

/** Calls of DataService that mean nothing here, and what to use in their place. */
export const absentMethods: Pick<ServiceImpl<typeof DataService>, AbsentMethod> = {
  getDatabaseConnection: () => absent(NO_DATABASE),
  configureDatabaseUser: () => absent(NO_DATABASE),
  createIndex: () => absent(NO_INDEXES),
  listIndexes: () => absent(NO_INDEXES),
  deleteIndex: () => absent(NO_INDEXES),
};

const NO_DATABASE = "this cloud has no database that clients of MongoDB connect to; query with " +
  "TabularDataBySQL or TabularDataByMQL, or download with GET /data/export";
const NO_INDEXES = "this cloud has no indexes of one's own; readings are found fast by " +
  "component_name with a span of received_us (SQL) or time_received (MQL)";

function absent(message: string): never {
  throw new ConnectError(message, Code.Unimplemented);
}
