import { createHash } from "node:crypto";
import type { ClusterJob } from "../remote/cluster.ts";
import { ENTRYPOINT } from "../remote/remote_run.ts";
import type { Job } from "./objects.ts";

/** A taint of nodes that pods get along with. */
export interface Toleration {
  /** Left out: all of them. */
  readonly key?: string;
  readonly operator: "Exists" | "Equal";
  readonly value?: string;
  readonly effect?: string;
}

/** What one run asks of the cluster, and where. */
export interface KubernetesResources {
  readonly cpus: number;
  readonly gpus: number;
  /** Of the pods; left out: the usual one of the namespace. Its token is not given to them. */
  readonly serviceAccount?: string | undefined;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
}

export const CONTAINER = "training";
/** Label of jobs by the cloud that they belong to. */
const CLOUD_LABEL = "machine-cloud/cloud";
/** Its address itself, which has no place in a label. */
const CLOUD_ANNOTATION = "machine-cloud/url";
const RUN_LABEL = "machine-cloud/training-run";
const NAME_LABEL = "app.kubernetes.io/name";
/** What network policies choose pods by. */
const NAME = "machine-training";
const USER = 10_001;
/** The cluster ends a run that its cloud does not; seconds. */
const DEADLINE_MARGIN = 300;
/** What a cloud that is gone left is removed after this time; seconds. */
const KEPT = 3_600;
const GRACE = 10;

/** Selects the jobs of a cloud. */
export function cloudSelector(cloudUrl: string): string {
  return `${CLOUD_LABEL}=${cloudLabel(cloudUrl)}`;
}

export function isOf({ metadata }: Job, cloudUrl: string): boolean {
  return metadata.annotations?.[CLOUD_ANNOTATION] === cloudUrl;
}

/** Selects the pods of a run. */
export function runSelector(id: string): string {
  return `${RUN_LABEL}=${id}`;
}

/**
 * The job of a run. It is suspended: its Secret names it as its owner, so it has to be there first.
 */
export function jobObject(
  { id, run, container, limits, cloudUrl }: ClusterJob,
  { cpus, gpus, serviceAccount, nodeSelector, tolerations }: KubernetesResources,
) {
  const labels = { [NAME_LABEL]: NAME, "app.kubernetes.io/managed-by": "machine-cloud" };
  const asked = {
    cpu: String(cpus),
    memory: String(limits.memoryBytes),
    ...(gpus === 0 ? {} : { "nvidia.com/gpu": String(gpus) }),
  };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: id,
      labels: { ...labels, [CLOUD_LABEL]: cloudLabel(cloudUrl) },
      annotations: { [CLOUD_ANNOTATION]: cloudUrl },
    },
    spec: {
      suspend: true,
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      activeDeadlineSeconds: Math.ceil(limits.wallMs / 1_000) + DEADLINE_MARGIN,
      ttlSecondsAfterFinished: KEPT,
      template: {
        metadata: {
          labels: { ...labels, [RUN_LABEL]: id },
          annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "false" },
        },
        spec: {
          restartPolicy: "Never",
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: GRACE,
          ...(serviceAccount === undefined ? {} : { serviceAccountName: serviceAccount }),
          ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
          ...(tolerations.length === 0 ? {} : { tolerations }),
          securityContext: {
            runAsNonRoot: true,
            ...{ runAsUser: USER, runAsGroup: USER, fsGroup: USER },
            seccompProfile: { type: "RuntimeDefault" },
          },
          volumes: [
            {
              name: "work",
              emptyDir: { sizeLimit: String(limits.diskBytes + limits.installBytes) },
            },
            { name: "shared-memory", emptyDir: { medium: "Memory" } },
          ],
          containers: [{
            name: CONTAINER,
            image: container.uri,
            command: ["/bin/sh", "-c", ENTRYPOINT],
            workingDir: "/tmp",
            env: [
              { name: "HOME", value: "/tmp" },
              { name: "TMPDIR", value: "/tmp" },
              ...Object.keys(run.environment).map((key) => ({
                name: key,
                valueFrom: { secretKeyRef: { name: id, key } },
              })),
            ],
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ["ALL"] },
            },
            volumeMounts: [
              { name: "work", mountPath: "/tmp" },
              { name: "shared-memory", mountPath: "/dev/shm" },
            ],
            resources: { requests: asked, limits: asked },
          }],
        },
      },
    },
  };
}

/** The environment of a run, the key of the job in it. It goes with its job. */
export function secretObject({ id, run }: ClusterJob, uid: string) {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: id,
      labels: { [NAME_LABEL]: NAME },
      ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: id, uid }],
    },
    type: "Opaque",
    immutable: true,
    stringData: run.environment,
  };
}

function cloudLabel(cloudUrl: string): string {
  return createHash("sha256").update(cloudUrl).digest("hex").slice(0, 32);
}
