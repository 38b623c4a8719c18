/**
 * For tests: what an API server, the controller of jobs and a kubelet do with jobs and secrets. It
 * keeps objects, and runs the container of a pod as a process.
 */
import assert from "node:assert/strict";
import { containerFolder, type ContainerSpec, FakeContainer } from "./fake_kubelet.ts";

export interface FakeObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
    deletionTimestamp?: string;
  };
  // deno-lint-ignore no-explicit-any
  spec?: any;
  // deno-lint-ignore no-explicit-any
  status?: any;
  readonly stringData?: Readonly<Record<string, string>>;
}

export type Kind = "jobs" | "secrets" | "pods" | "events";

const GRACE_MS = 2_000;

/** One namespace of a cluster. */
export class FakeCluster implements AsyncDisposable {
  readonly objects: Record<Kind, Map<string, FakeObject>> = {
    jobs: new Map(),
    secrets: new Map(),
    pods: new Map(),
    events: new Map(),
  };
  readonly containers = new Map<string, FakeContainer>();
  /** What happened to pods, in order; a watch begins after a version. */
  readonly history: { readonly version: number; readonly type: string; readonly object: string }[] =
    [];
  readonly watchers = new Set<() => void>();
  /** Statuses of pods that do not start; undefined: they do. */
  notStarting: ((pod: FakeObject) => object) | undefined;
  /** Why no pod is made. */
  refusesPods: string | undefined;
  #version = 1;

  private constructor(
    readonly folder: string,
    private readonly variables: Readonly<Record<string, string>>,
  ) {}

  /** @param variables of containers, besides those of their pods */
  static async start(variables: Readonly<Record<string, string>> = {}): Promise<FakeCluster> {
    const folder = await Deno.makeTempDir({ dir: "/tmp", prefix: "kube-" });
    return new FakeCluster(folder, variables);
  }

  get version(): number {
    return this.#version;
  }

  add(kind: Kind, object: FakeObject): FakeObject {
    const kept = {
      ...object,
      metadata: {
        ...object.metadata,
        uid: crypto.randomUUID(),
        resourceVersion: String(++this.#version),
      },
    };
    this.objects[kind].set(kept.metadata.name, kept);
    return kept;
  }

  /** The controller of jobs: makes the pod of one that is not suspended. */
  resume(job: FakeObject): void {
    job.metadata.resourceVersion = String(++this.#version);
    if (job.spec.suspend) return;
    if (this.refusesPods !== undefined) {
      const event = {
        metadata: { name: crypto.randomUUID(), labels: { of: job.metadata.uid } },
        ...{ kind: "Event", reason: "FailedCreate", message: this.refusesPods },
      };
      this.add("events", event as unknown as FakeObject);
      return;
    }
    const { metadata, spec } = job.spec.template;
    const name = `${job.metadata.name.slice(0, 57)}-${crypto.randomUUID().slice(0, 5)}`;
    const owner = [{ uid: job.metadata.uid }];
    const made = { kind: "Pod", metadata: { ...metadata, name, ownerReferences: owner }, spec };
    const pod = this.add("pods", made as unknown as FakeObject);
    pod.status = { phase: "Pending" };
    this.#changed("ADDED", pod);
    if (this.notStarting) return this.setStatus(pod, this.notStarting(pod));
    void this.#run(pod, job);
  }

  setStatus(pod: FakeObject, status: object): void {
    pod.status = status;
    this.#changed("MODIFIED", pod);
  }

  get pod(): FakeObject {
    const [pod] = this.objects.pods.values();
    assert.ok(pod, "there is no pod");
    return pod;
  }

  /** Ends a pod with a status that is not of its script. */
  async end(pod: FakeObject, status: object): Promise<void> {
    pod.metadata.deletionTimestamp ??= new Date().toISOString();
    pod.status = { ...pod.status, ...status, isKept: true };
    await this.#kill(pod);
  }

  /** As the deletion of a job that waits for its pods. */
  delete(name: string): void {
    const job = this.objects.jobs.get(name);
    if (!job || job.metadata.deletionTimestamp !== undefined) return;
    job.metadata.deletionTimestamp = new Date().toISOString();
    void this.#delete(job);
  }

  async #delete(job: FakeObject): Promise<void> {
    const isOwned = ({ metadata }: FakeObject) =>
      metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid) ?? false;
    for (const pod of [...this.objects.pods.values()].filter(isOwned)) {
      await this.#kill(pod);
      this.objects.pods.delete(pod.metadata.name);
      this.#changed("DELETED", pod);
    }
    for (const [name, secret] of this.objects.secrets) {
      if (isOwned(secret)) this.objects.secrets.delete(name);
    }
    this.objects.jobs.delete(job.metadata.name);
  }

  async #kill(pod: FakeObject): Promise<void> {
    const container = this.containers.get(pod.metadata.name);
    if (!container) return;
    container.kill("SIGTERM");
    const timer = setTimeout(() => container.kill("SIGKILL"), GRACE_MS);
    await container.exited;
    clearTimeout(timer);
  }

  async #run(pod: FakeObject, job: FakeObject): Promise<void> {
    const [spec] = pod.spec.containers as ContainerSpec[];
    assert.ok(spec);
    const secret = (name: string) => this.objects.secrets.get(name)?.stringData ?? {};
    const folder = await containerFolder(this.folder);
    const container = new FakeContainer(spec, secret, folder, this.variables);
    this.containers.set(pod.metadata.name, container);
    this.setStatus(pod, { phase: "Running", containerStatuses: [{ state: { running: {} } }] });
    const exitCode = await container.exited;
    const { isKept, ...status } = pod.status;
    const state = { terminated: { exitCode, reason: exitCode === 0 ? "Completed" : "Error" } };
    this.setStatus(pod, {
      phase: exitCode === 0 ? "Succeeded" : "Failed",
      containerStatuses: [{ state }],
      ...(isKept ? { ...status, phase: "Failed" } : {}),
    });
    const type = pod.status.phase === "Succeeded" ? "Complete" : "Failed";
    const reason = type === "Failed" ? "BackoffLimitExceeded" : "CompletionsReached";
    job.status = { conditions: [{ type, status: "True", reason }] };
  }

  #changed(type: string, pod: FakeObject): void {
    pod.metadata.resourceVersion = String(++this.#version);
    const object = JSON.stringify({ type, object: pod });
    this.history.push({ version: this.#version, type, object });
    for (const watcher of this.watchers) watcher();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const container of this.containers.values()) container.kill("SIGKILL");
    await Promise.all([...this.containers.values()].map(({ exited }) => exited));
    await Deno.remove(this.folder, { recursive: true });
  }
}
