import { Watched } from "../../shared/workers/watched.ts";

/** What this run knows of the way to the cloud. The settings poll says it, everybody else reads. */
export class CloudReach {
  /** True once the cloud has answered in this run. */
  readonly answered = new Watched(false);
  /** Whether the cloud answered when it was queried last. */
  readonly reached = new Watched(false);
}
