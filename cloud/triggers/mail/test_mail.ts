import { Code, ConnectError } from "@connectrpc/connect";
import { AttemptBuckets } from "../../../shared/cloud/auth/attempt_buckets.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";
import type { Random } from "../../storage/keys/random.ts";
import { type Mail, MailError } from "./mailer.ts";
import { mailHtml } from "./mail_html.ts";

export interface TestMailsOptions {
  /** Undefined: there is no mail server. */
  readonly sendMail: ((mail: Mail) => Promise<string>) | undefined;
  readonly random: Random;
  readonly monotonicMs: () => number;
}

/** Of one organisation: so many in a row, then one a minute. */
const LIMITS = { burst: 5, perMinute: 1 };

/** What became of a test mail. */
export interface TestMailOutcome {
  readonly to: string;
  /** What the mail server said. */
  readonly answer: string;
  /** Why it did not take the mail; empty: it did. */
  readonly error: string;
}

/** Mails by which owners find out whether the mail server takes what the cloud sends. */
export class TestMails {
  readonly #sent: AttemptBuckets;

  constructor(private readonly options: TestMailsOptions) {
    this.#sent = new AttemptBuckets(options.monotonicMs, LIMITS);
  }

  /** @throws {ConnectError} where there is no mail server, or after too many. */
  async send(
    { orgId, organization, to, from }: {
      readonly orgId: string;
      readonly organization: string;
      readonly to: string;
      /** Who requested it. */
      readonly from: string;
    },
  ): Promise<TestMailOutcome> {
    const { sendMail, random } = this.options;
    if (!sendMail) {
      throw new ConnectError(
        "this cloud has no mail server; who runs it sets one with MACHINE_CLOUD_SMTP_URL",
        Code.FailedPrecondition,
      );
    }
    if (!this.#sent.free(orgId)) {
      throw refusal(
        "TRY_LATER",
        {},
        `${LIMITS.burst} test mails were sent; wait a minute for the next`,
        Code.ResourceExhausted,
      );
    }
    this.#sent.reserve(orgId);
    const sentences = [
      `This is a test mail of the organisation ${organization}: its notifications arrive here.`,
    ];
    const why = `Sent because ${from} requested it.`;
    try {
      const answer = await sendMail({
        to,
        subject: "Test mail of machine-cloud",
        text: `${sentences.join("\n\n")}\n\n${why}\n`,
        html: mailHtml({ sentences, rows: [], next: "", why }),
        id: random.uuid(),
      });
      return { to, answer, error: "" };
    } catch (error) {
      if (!(error instanceof MailError)) throw error;
      return { to, answer: "", error: error.message };
    } finally {
      this.#sent.settle(orgId, true);
    }
  }
}
