import type { JsonObject } from "@bufbuild/protobuf";
import type { Transaction } from "kysely";
import type { CloudTables } from "../../storage/database/schema.ts";

/** The kinds of data that triggers name. */
export type IngestedDataType = "tabular" | "binary" | "file" | "unspecified";

/** One reading as the machine captured it. */
export interface IngestedReading {
  /** When the driver was queried. */
  readonly requestedAt: Date;
  /** When it answered. */
  readonly receivedAt: Date;
  /** What was captured, whole: a sensor's values stand under `readings`. */
  readonly data: JsonObject;
}

/** What one upload brought, reported inside the transaction that stores it. */
export interface IngestedData {
  readonly organizationId: string;
  readonly locationId: string;
  readonly machineId: string;
  readonly partId: string;
  readonly dataType: IngestedDataType;
  /** As the machine sent it: `rdk:component:sensor`; of old machines `sensor`. */
  readonly componentType: string;
  readonly componentName: string;
  readonly methodName: string;
  /** What the upload was answered with. */
  readonly fileId: string;
  /** In the order of the capture file; empty but for `tabular`. */
  readonly readings: readonly IngestedReading[];
  /** The earliest and the latest `receivedAt`; of a file its time. */
  readonly minTimeReceived: Date;
  readonly maxTimeReceived: Date;
  /** When it arrived, by the clock of the cloud; the times above are those of the machine. */
  readonly syncedAt: Date;
  readonly tags: readonly string[];
}

/** Acts on what arrives. */
export interface IngestListener {
  /**
   * Runs inside the transaction that stores the data, once for each upload that was not there yet:
   * what it writes is there exactly when the data is. When it throws, nothing of the upload is
   * stored and the machine sends it again.
   */
  ingested(transaction: Transaction<CloudTables>, data: IngestedData): Promise<void>;
  /** The transaction has been committed. Must not throw or wait. */
  committed(): void;
}
