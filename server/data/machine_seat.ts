/** What models need of the machine that they are resources of. */
import type { DescService } from "@bufbuild/protobuf";
import type { CloudCredentials } from "../../shared/cloud/auth/cloud_credentials.ts";
import type { Database } from "../../shared/base/store/sqlite.ts";
import type { FrameSystem } from "../resources/frames/frame_system.ts";
import type { ResourceIndex } from "../resources/graph/resource_index.ts";
import type { ResourceSpec } from "../resources/graph/target.ts";
import type { CloudAccess, DataCloud } from "./data_cloud.ts";

/** The running machine, as its data manager and its motion service see it. */
export interface DataMachine {
  readonly resources: ResourceIndex;
  /** The service that carries an API (`rdk:component:sensor`). */
  readonly serviceOf: (api: string) => DescService | undefined;
  /** Where the machine's parts are. */
  readonly frames: Pick<FrameSystem, "snapshot" | "pose">;
  /** The server's database. */
  readonly db: Database;
  /** Undefined for a machine without a cloud. */
  readonly cloud: DataCloud | undefined;
  /** Opens the machine's cloud; the caller closes it. Undefined for a machine without a cloud. */
  readonly connectCloud: ((credentials: CloudCredentials) => CloudAccess) | undefined;
}

/**
 * Stands between the models, which are there before the machine, and the machine. The machine
 * takes its seat before the first resource is built.
 */
export class MachineSeat {
  #machine: DataMachine | undefined;
  #specs: readonly ResourceSpec[] = [];
  readonly #listeners = new Set<() => void>();

  /** All entries of the configuration in force. */
  get specs(): readonly ResourceSpec[] {
    return this.#specs;
  }

  /** @throws {Error} while there is none. */
  get machine(): DataMachine {
    if (this.#machine) return this.#machine;
    throw new Error("it was built without a machine around it");
  }

  take(machine: DataMachine): void {
    this.#machine = machine;
  }

  /** Called with each configuration before its resources are built. */
  setSpecs(specs: readonly ResourceSpec[]): void {
    this.#specs = specs;
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after each change of {@link specs}, until the returned function is called. */
  onSpecs(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
