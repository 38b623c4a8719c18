/** What the data manager and its like need of the machine's cloud. */
import type { CloudConnection } from "../../shared/cloud/client/connection.ts";

/** How data gets into the cloud. */
export interface DataCloud {
  /** A client of one of its services: who uploads loads the service, a start does not. */
  readonly client: CloudConnection["client"];
  readonly partId: string;
}

/** Clients of the cloud that use other credentials than the machine's. */
export type CloudAccess = Pick<CloudConnection, "client" | "close">;
