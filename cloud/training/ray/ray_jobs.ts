import { z } from "zod";
import type { Secret } from "../../../shared/base/redaction/secret.ts";
import { askCluster } from "../remote/ask_cluster.ts";
import { ClusterAwayError, ClusterRefusedError } from "../remote/cluster.ts";

const LONGEST_ERROR = 2_000;
/** A head answers 500 to what one of its agents refuses. */
const REFUSED = /Request failed with status code 4\d\d:/;

/** https://docs.ray.io/en/latest/cluster/running-applications/job-submission/api.html */
const detailsForm = z.object({
  submission_id: z.string().nullish(),
  status: z.enum(["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]),
  message: z.string().transform((text) => text.slice(0, LONGEST_ERROR)).nullish(),
  /** Of one that failed; not of Ray before 2.47. */
  error_type: z.string().nullish(),
  driver_exit_code: z.number().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});
export type RayJob = z.infer<typeof detailsForm>;

export interface RaySubmission {
  readonly submission_id: string;
  readonly entrypoint: string;
  readonly runtime_env: {
    readonly env_vars: Readonly<Record<string, string>>;
    readonly pip?: { readonly packages: readonly string[]; readonly pip_check: false };
  };
  readonly metadata: Readonly<Record<string, string>>;
  readonly entrypoint_num_cpus: number;
  readonly entrypoint_num_gpus: number;
  /** Bytes. */
  readonly entrypoint_memory: number;
}

export interface RayJobsOptions {
  /** Of the dashboard, `http://127.0.0.1:8265`. */
  readonly address: string;
  /** Sent as a bearer token; left out: none. */
  readonly token?: Secret | undefined;
}

/** The Jobs REST API of a Ray cluster. */
export class RayJobs {
  constructor(private readonly options: RayJobsOptions) {}

  /** Also when it was submitted before and the answer got lost. */
  async submit(submission: RaySubmission): Promise<void> {
    try {
      await this.#ask("POST", "", submission);
    } catch (error) {
      if (await this.find(submission.submission_id).catch(() => undefined)) return;
      const isRefused = error instanceof ClusterAwayError && REFUSED.test(error.message);
      throw isRefused ? new ClusterRefusedError(400, error.message) : error;
    }
  }

  /** Undefined: Ray does not know it. */
  async find(id: string): Promise<RayJob | undefined> {
    try {
      return this.#read(detailsForm, await this.#ask("GET", encodeURIComponent(id)));
    } catch (error) {
      if (error instanceof ClusterRefusedError && error.status === 404) return undefined;
      throw error;
    }
  }

  async list(): Promise<RayJob[]> {
    return this.#read(z.array(detailsForm), await this.#ask("GET", ""));
  }

  /** Everything that it has printed. */
  async logs(id: string): Promise<string> {
    const answer = await this.#ask("GET", `${encodeURIComponent(id)}/logs`);
    return this.#read(z.object({ logs: z.string() }), answer).logs;
  }

  async stop(id: string): Promise<void> {
    await this.#ask("POST", `${encodeURIComponent(id)}/stop`);
  }

  /** Only of one that has ended. */
  async delete(id: string): Promise<void> {
    await this.#ask("DELETE", encodeURIComponent(id));
  }

  async #ask(method: string, path: string, body?: object): Promise<unknown> {
    const { address, token } = this.options;
    const text = await askCluster(`${address.replace(/\/$/, "")}/api/jobs/${path}`, {
      who: `Ray at ${address}`,
      // With 500 a dashboard says that a computer it asked is busy or gone.
      isAway: (status) => status >= 500,
      method,
      headers: {
        ...(body ? { "content-type": "application/json" } : {}),
        ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    try {
      return JSON.parse(text);
    } catch {
      throw this.#isNotRay();
    }
  }

  #read<T>(form: z.ZodType<T>, answer: unknown): T {
    const { success, data } = form.safeParse(answer);
    if (success) return data;
    throw this.#isNotRay();
  }

  #isNotRay(): ClusterAwayError {
    return new ClusterAwayError(`what answers at ${this.options.address} is no dashboard of Ray`);
  }
}
