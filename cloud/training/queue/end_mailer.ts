import { createHash } from "node:crypto";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { retry, RetryError } from "../../../shared/base/time/retry.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { type Mailer, MailError } from "../../triggers/mail/mailer.ts";
import type { JobLogs } from "../jobs/job_logs.ts";
import type { JobRow } from "../jobs/jobs.ts";
import { readOwners } from "../../triggers/rules/owners.ts";
import { endMail } from "./end_mail.ts";

export interface EndMailerOptions {
  readonly queries: Queries;
  /** Undefined: the operator has set no mail server, and nobody is notified. */
  readonly mailer: Pick<Mailer, "send"> | undefined;
  readonly logs: Pick<JobLogs, "append">;
  readonly clock: Clock;
  readonly log: Logger;
}

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;
/** How long a mail that is being sent may take when the cloud ends. */
const GRACE_MS = 2_000;
/** Ends of jobs whose mail is not sent yet; more are not reported. */
const MOST_WAITING = 1_000;

/**
 * Notifies the owners of an organisation that one of its jobs has ended, one job after another.
 * What is not sent when the cloud ends is not sent any more; a mail never changes a job.
 */
export class EndMailer {
  readonly #ending = new AbortController();
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(private readonly options: EndMailerOptions) {}

  /** Returns at once. */
  tell(job: JobRow): void {
    if (!this.options.mailer || this.#waiting >= MOST_WAITING) return;
    // Whoever takes back a job that waits knows it.
    if (job.state === "canceled" && job.started_at === null) return;
    this.#waiting++;
    this.#last = this.#last.then(() => this.#tell(job)).catch((error) => {
      this.options.log.error("cannot notify anybody of the end of a training job", {
        event: "mail_failed",
        job: job.id,
        error: String(error),
      });
    }).finally(() => {
      this.#waiting--;
    });
  }

  async close(): Promise<void> {
    this.#ending.abort(new Error("the cloud is shutting down"));
    await Promise.race([this.#last, this.options.clock.sleep(GRACE_MS)]);
  }

  async #tell(job: JobRow): Promise<void> {
    const { queries } = this.options;
    if (this.#ending.signal.aborted) return;
    const owned = { type: "organization", id: job.org_id } as const;
    const addresses = await readOwners(queries, job.org_id, owned);
    if (addresses.length === 0) return;
    const dataset = await queries.selectFrom("datasets").select("name")
      .where("id", "=", job.dataset_id).where("org_id", "=", job.org_id).executeTakeFirst();
    const organization = await queries.selectFrom("organizations").select("name")
      .where("id", "=", job.org_id).executeTakeFirst();
    const content = endMail({
      job,
      datasetName: dataset?.name ?? "",
      organizationName: organization?.name ?? job.org_id,
    });
    for (const to of addresses) {
      await this.#send({ ...content, to, id: mailId(job.id, to) }, job);
    }
  }

  async #send(mail: Parameters<Mailer["send"]>[0], job: JobRow): Promise<void> {
    const { mailer, clock, logs } = this.options;
    try {
      await retry(async () => await mailer?.send(mail), {
        clock,
        backoff: new Backoff({ minMs: FIRST_PAUSE_MS, maxMs: LONGEST_PAUSE_MS }),
        signal: this.#ending.signal,
        maxAttempts: ATTEMPTS,
        isRetriable: (error) => !(error instanceof MailError) || error.isRetryable,
      });
    } catch (error) {
      if (this.#ending.signal.aborted) return;
      const cause = error instanceof RetryError ? error.cause : error;
      const reason = toError(cause).message;
      const message = `could not send the mail about the end of this job to ${mail.to}: ${reason}`;
      await logs.append(job.seq, [{ timeMs: clock.now().getTime(), level: "warn", message }]);
    }
  }
}

/** The same whenever the same mail is sent again. */
function mailId(jobId: string, to: string): string {
  const receiver = createHash("sha256").update(to).digest("hex").slice(0, 16);
  return `training-${jobId}-${receiver}`;
}
