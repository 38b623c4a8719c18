import type { Nodes } from "../nodes/nodes.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Callers } from "../accounts/access/callers.ts";
import type { ChangeFeed } from "../storage/database/change_feed.ts";
import type { Queries } from "../storage/database/cloud_database.ts";
import type { Random } from "../storage/keys/random.ts";
import type { BlobStore } from "../storage/blobs/blob_store.ts";
import type { PackageStore } from "../registry/packages/package_store.ts";
import type { AddressedBlobs } from "../training/remote/stored_exchange.ts";
import type { EngineKind } from "../training/runs/container_engine.ts";
import type { RunLimits } from "../training/runs/limits.ts";
import type { TrainingRunner } from "../training/runs/runner.ts";
import type { RayJobsOptions } from "../training/ray/ray_jobs.ts";
import type { RayResources } from "../training/ray/ray_cluster.ts";
import type { ApiAccessOptions } from "../training/kubernetes/api_access.ts";
import type { KubernetesResources } from "../training/kubernetes/job_objects.ts";
import type { NotificationSettings } from "./notifications.ts";

/** One training alone uses all processors that there are, and most of the memory. */
export const TRAINING_JOBS = 1;

/** A Ray cluster, and what one run asks of it. */
export interface RaySettings extends RayJobsOptions, RayResources {}

/** A namespace of a Kubernetes cluster, and what one run asks of it. */
export interface KubernetesSettings {
  readonly access: ApiAccessOptions;
  readonly namespace: string;
  readonly resources: KubernetesResources;
}

/** What the operator says about training. */
export interface TrainingSettings {
  /** Jobs that run at once; 0: this cloud trains nothing. Left out: 1. */
  readonly jobs?: number | undefined;
  /** Jobs of one organisation that run at once; left out: as many as in the whole cloud. */
  readonly jobsPerOrganization?: number | undefined;
  /** Jobs of one organisation that may wait or run; left out: 2,000. */
  readonly mostUnfinished?: number | undefined;
  /** Python that runs scripts; left out: `python3`, looked for in PATH. */
  readonly python?: string | undefined;
  /** True: where the system gives no walls, scripts run without. Else they do not run there. */
  readonly allowNoWalls?: boolean | undefined;
  /** Where scripts run; left out: in environments on this host, without containers. */
  readonly engine?: EngineKind | undefined;
  /** A Ray cluster that scripts run on, in place of this host. */
  readonly ray?: RaySettings | undefined;
  /** A Kubernetes cluster, likewise. */
  readonly kubernetes?: KubernetesSettings | undefined;
  /** File that lists the images of containers; left out: a usual one with TensorFlow, one without. */
  readonly images?: string | undefined;
  /** File of weights that managed training starts from; left out: it starts from scratch. */
  readonly weights?: string | undefined;
  /** What one run may use. */
  readonly limits?: Partial<RunLimits> | undefined;
  /** For tests, in place of what runs scripts on this host. */
  readonly runner?: TrainingRunner | undefined;
}

/** Nodes notify the one that trains: a job was submitted. */
export const WAKE_TOPIC = "training-wake";
/** A job was canceled: its id. */
export const CANCEL_TOPIC = "training-cancel";

export interface TrainingOptions {
  readonly settings: TrainingSettings;
  /** Another process serves the folder and trains: this one reads and forgets jobs. */
  readonly isServedElsewhere?: boolean;
  /** One of them trains. */
  readonly nodes: Nodes;
  readonly mail: Pick<NotificationSettings, "smtpUrl" | "mailFrom">;
  readonly queries: Queries;
  readonly dataDir: string;
  readonly callers: Pick<Callers, "scope">;
  readonly changes: Pick<ChangeFeed, "drain">;
  /** Bytes of captured files. */
  readonly files: BlobStore;
  /** Bytes of packages. */
  readonly blobs: BlobStore;
  /** Where all nodes find the files of runs on clusters; undefined: this node serves alone. */
  readonly shared: AddressedBlobs | undefined;
  readonly packages: PackageStore;
  readonly publicUrl: () => string;
  readonly clock: Clock;
  /** By it things are too old to be kept. */
  readonly cautious: Clock;
  readonly random: Random;
  readonly log: Logger;
}
