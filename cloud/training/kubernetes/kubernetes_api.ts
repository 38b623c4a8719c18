import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { z } from "zod";
import { askCluster, type ClusterQuestion, streamCluster } from "../remote/ask_cluster.ts";
import { ClusterAwayError, ClusterRefusedError } from "../remote/cluster.ts";
import type { ApiAccess } from "./api_access.ts";
import { eventForm, type Job, jobForm, listOf, type Pod, podForm } from "./objects.ts";

export interface KubernetesApiOptions {
  readonly access: ApiAccess;
  /** Where the jobs are. */
  readonly namespace: string;
}

export interface LogQuestion {
  /** As the log writes times; left out: from the beginning. */
  readonly since?: string | undefined;
  /** Whether the answer continues with what is printed later. */
  readonly isFollowed: boolean;
}

/** Pods, and from where a watch of them continues. */
export interface PodList {
  readonly pods: readonly Pod[];
  readonly resourceVersion: string;
}

const BATCH = "/apis/batch/v1";
const CORE = "/api/v1";
const MERGE_PATCH = "application/merge-patch+json";
const REASON_LENGTH = 500;

/**
 * Jobs of one namespace, by the REST interface of an API server. What is asked here is what
 * the role in deploy/ allows.
 */
export class KubernetesApi {
  constructor(private readonly options: KubernetesApiOptions) {}

  get namespace(): string {
    return this.options.namespace;
  }

  /** Also one that was made before and whose answer got lost. */
  async createJob(job: { readonly metadata: { readonly name: string } }): Promise<Job> {
    const made = await this.#create(`${BATCH}/${this.#within("jobs")}`, job);
    if (made !== undefined) return this.#read(jobForm, made);
    const found = await this.job(job.metadata.name);
    if (found) return found;
    throw new ClusterAwayError(`the job ${job.metadata.name} was there and is gone`);
  }

  /** Likewise. */
  async createSecret(secret: object): Promise<void> {
    await this.#create(`${CORE}/${this.#within("secrets")}`, secret);
  }

  async patchJob(name: string, patch: object): Promise<void> {
    await this.#ask(`${BATCH}/${this.#within("jobs", name)}`, "PATCH", patch);
  }

  /** Undefined: there is none. */
  async job(name: string): Promise<Job | undefined> {
    const found = await this.#unless404(() => this.#ask(`${BATCH}/${this.#within("jobs", name)}`));
    return found === undefined ? undefined : this.#read(jobForm, found);
  }

  async jobs(selector: string): Promise<readonly Job[]> {
    const query = new URLSearchParams({ labelSelector: selector });
    const found = await this.#ask(`${BATCH}/${this.#within("jobs")}?${query}`);
    return this.#read(listOf(jobForm), found).items;
  }

  /** Ends its pods first: it is there as long as one of them. */
  async deleteJob(name: string): Promise<void> {
    const how = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Foreground" };
    const path = `${BATCH}/${this.#within("jobs", name)}`;
    await this.#unless404(() => this.#ask(path, "DELETE", how));
  }

  async pods(selector: string): Promise<PodList> {
    const query = new URLSearchParams({ labelSelector: selector });
    const found = await this.#ask(`${CORE}/${this.#within("pods")}?${query}`);
    const { items, metadata } = this.#read(listOf(podForm), found);
    return { pods: items, resourceVersion: metadata.resourceVersion ?? "" };
  }

  /** Resolves when one of the pods changed since, and when the watch ends or breaks. */
  async podsChanged(
    selector: string,
    resourceVersion: string,
    seconds: number,
    signal: AbortSignal,
  ): Promise<void> {
    const query = new URLSearchParams({
      ...{ watch: "1", labelSelector: selector, resourceVersion },
      timeoutSeconds: String(seconds),
    });
    const ended = linkedController(signal, seconds * 1_000);
    try {
      const stream = await this.#stream(`${CORE}/${this.#within("pods")}?${query}`, ended.signal);
      const reader = stream.getReader();
      await reader.read();
      await reader.cancel();
    } catch {
      signal.throwIfAborted();
    } finally {
      ended.abort();
    }
  }

  /** What was reported about an object: reason and message, the latest last. */
  async events(uid: string): Promise<readonly string[]> {
    const query = new URLSearchParams({ fieldSelector: `involvedObject.uid=${uid}` });
    const found = await this.#ask(`${CORE}/${this.#within("events")}?${query}`);
    return this.#read(listOf(eventForm), found).items
      .map(({ reason, message }) => `${reason}: ${message}`.slice(0, REASON_LENGTH));
  }

  /** Each line begins with its time. */
  async log(
    pod: string,
    container: string,
    { since, isFollowed }: LogQuestion,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    const query = new URLSearchParams({
      ...{ container, timestamps: "true" },
      ...(isFollowed ? { follow: "true" } : {}),
      ...(since === undefined ? {} : { sinceTime: since }),
    });
    return await this.#stream(`${CORE}/${this.#within("pods", pod)}/log?${query}`, signal);
  }

  #within(kind: string, name?: string): string {
    const path = `namespaces/${encodeURIComponent(this.options.namespace)}/${kind}`;
    return name === undefined ? path : `${path}/${encodeURIComponent(name)}`;
  }

  /** Undefined: one of that name is there. */
  async #create(path: string, object: object): Promise<unknown> {
    try {
      return await this.#ask(path, "POST", object);
    } catch (error) {
      if (!(error instanceof ClusterRefusedError) || error.status !== 409) throw error;
      if (/already exists/.test(error.message)) return undefined;
      // A quota that another object was counted in at the same moment.
      throw new ClusterAwayError(error.message);
    }
  }

  async #unless404(ask: () => Promise<unknown>): Promise<unknown> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ClusterRefusedError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #ask(path: string, method = "GET", body?: object): Promise<unknown> {
    const type = method === "PATCH" ? MERGE_PATCH : "application/json";
    const content = body && { body: JSON.stringify(body), type };
    const text = await this.options.access.use((url, question) =>
      askCluster(`${url}${path}`, { ...question, method, ...withContent(question, content) })
    );
    try {
      return JSON.parse(text);
    } catch {
      throw this.#isNotKubernetes();
    }
  }

  async #stream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    return await this.options.access.use((url, question) =>
      streamCluster(`${url}${path}`, question, signal)
    );
  }

  #read<T>(form: z.ZodType<T>, answer: unknown): T {
    const { success, data } = form.safeParse(answer);
    if (success) return data;
    throw this.#isNotKubernetes();
  }

  #isNotKubernetes(): ClusterAwayError {
    const { server } = this.options.access;
    return new ClusterAwayError(`what answers at ${server} is no API server of Kubernetes`);
  }
}

function withContent(
  { headers }: ClusterQuestion,
  content: { readonly body: string; readonly type: string } | undefined,
): Pick<RequestInit, "headers" | "body"> {
  if (content === undefined) return {};
  return { headers: { ...headers, "content-type": content.type }, body: content.body };
}
