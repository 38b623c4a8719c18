import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import type {
  AgentService,
  AgentStatusSchema,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { spread } from "../../../shared/workers/spread.ts";
import { anyChange, type Watched } from "../../../shared/workers/watched.ts";
import type { Commands } from "./commands.ts";

export interface StatusReporterOptions {
  readonly client: Pick<Client<typeof AgentService>, "reportAgentStatus">;
  readonly partId: string;
  /** The status at this moment, without the finished commands. */
  readonly status: () => MessageInitShape<typeof AgentStatusSchema>;
  /** Set when the status may have changed. */
  readonly changes: readonly Watched<unknown>[];
  readonly commands: Pick<Commands, "finished" | "reported" | "carryOut">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

const REPORT_TIMEOUT_MS = 15_000;
/** Without a change; it also is how soon an operator's command is received. */
const REPORT_EVERY_MS = 20_000;
/** Changes that come one after the other are reported together. */
const GATHER_MS = 1_000;
const SHORTEST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 60_000;
/** A cloud that takes no reports may be replaced by one that does. */
const ASK_OTHERS_EVERY_MS = 10 * 60_000;

/** Reports to the cloud how programs and updates stand, and does what operators left there. */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  #sent = "";

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const backoff = new Backoff({ minMs: SHORTEST_RETRY_MS, maxMs: LONGEST_RETRY_MS });
    while (!signal.aborted) {
      const outcome = await this.#report(signal);
      if (outcome === "taken") {
        backoff.reset();
        await this.#untilDue(signal);
      } else {
        await clock.sleep(outcome === "unknown" ? ASK_OTHERS_EVERY_MS : backoff.next(), signal);
      }
    }
  }

  /** Until something differs from what was sent, or it is time anyway. */
  async #untilDue(signal: AbortSignal): Promise<void> {
    const { changes, clock, status, commands, random = Math.random } = this.#options;
    const dueMs = clock.monotonicMs() + spread(REPORT_EVERY_MS, random());
    const isNews = () => fingerprint(status()) !== this.#sent || commands.finished().length > 0;
    while (!isNews()) {
      const leftMs = dueMs - clock.monotonicMs();
      if (leftMs <= 0) return;
      await anyChange(changes, signal, { clock, ms: leftMs });
    }
    await clock.sleep(GATHER_MS, signal);
  }

  async #report(signal: AbortSignal): Promise<"taken" | "unknown" | "failed"> {
    const { client, partId, commands, log } = this.#options;
    const status = this.#options.status();
    const finishedCommands = commands.finished();
    const report = { partId, status: { ...status, finishedCommands } };
    try {
      const answer = await client.reportAgentStatus(report, {
        signal,
        timeoutMs: REPORT_TIMEOUT_MS,
      });
      this.#sent = fingerprint(status);
      commands.reported(finishedCommands);
      commands.carryOut(answer.commands);
      return "taken";
    } catch (error) {
      if (signal.aborted || !(error instanceof ConnectError)) throw error;
      // The poll of the settings shows that the cloud is away; once is enough.
      log.debug("cannot report the status to the cloud", { code: Code[error.code] });
      return error.code === Code.Unimplemented ? "unknown" : "failed";
    }
  }
}

/** The end of a trial moves a little with each look at it; that is no news. */
function fingerprint(status: MessageInitShape<typeof AgentStatusSchema>): string {
  return JSON.stringify(
    status,
    (key, value) =>
      key === "trialUntil" ? undefined : typeof value === "bigint" ? `${value}` : value,
  );
}
