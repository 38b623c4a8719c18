/** What the machine as a whole is doing: starting or running, and with which configuration. */
import type { Clock } from "../../../shared/base/time/clock.ts";

/** Who the machine is in its cloud; empty texts where it has none. */
export interface CloudMetadata {
  readonly primaryOrgId: string;
  readonly locationId: string;
  readonly machineId: string;
  readonly machinePartId: string;
}

const NO_CLOUD: CloudMetadata = {
  primaryOrgId: "",
  locationId: "",
  machineId: "",
  machinePartId: "",
};

export class MachineState {
  #phase: "initializing" | "running" = "initializing";
  #revision = "";
  #appliedAt: Date | undefined;
  #configError = "";
  #cloud: CloudMetadata = NO_CLOUD;

  /** @param onChange called after each change. */
  constructor(private readonly clock: Clock, private readonly onChange: () => void = () => {}) {}

  get phase(): "initializing" | "running" {
    return this.#phase;
  }
  /** Revision of the configuration that is applied; empty before the first one. */
  get revision(): string {
    return this.#revision;
  }
  get appliedAt(): Date | undefined {
    return this.#appliedAt;
  }
  /** Why the newest configuration is not the applied one; empty when it is. */
  get configError(): string {
    return this.#configError;
  }
  get cloud(): CloudMetadata {
    return this.#cloud;
  }

  /** A configuration has been applied; `problem` says what of it could not be. */
  applied(revision: string, problem = ""): void {
    this.#phase = "running";
    this.#revision = revision;
    this.#appliedAt = this.clock.now();
    this.#configError = problem;
    this.onChange();
  }

  /** A configuration could not be used; the one before continues. */
  refused(reason: string): void {
    if (this.#configError === reason) return;
    this.#configError = reason;
    this.onChange();
  }

  /** The newest configuration is the applied one again. */
  recovered(): void {
    this.refused("");
  }

  setCloud(cloud: CloudMetadata): void {
    this.#cloud = cloud;
  }
}
