import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { Redactor } from "../../../shared/base/redaction/redactor.ts";
import type { NotificationType, TriggerType } from "../../storage/database/trigger_schema.ts";
import type { LogIntake } from "../../fleet/logs/log_intake.ts";
import type { DeliveryRow } from "./delivery_store.ts";
import type { AttemptOutcome } from "./retry_policy.ts";

/** An attempt that failed, as a machine's logs show it. */
export interface FailedAttempt {
  readonly partId: string;
  readonly triggerName: string;
  readonly triggerType: TriggerType;
  readonly notificationType: NotificationType;
  /** URL or e-mail address. */
  readonly target: string;
  readonly componentName: string | undefined;
  readonly methodName: string | undefined;
  readonly error: string;
  /** Undefined: no answer. */
  readonly statusCode: number | undefined;
}

const redactor = new Redactor();

/** The line of a failed attempt: spec §7. */
function failureMessage(failed: FailedAttempt): string {
  const { componentName = "N/A", methodName = "N/A", statusCode = 0 } = failed;
  const target = redactor.text(failed.target);
  return `Trigger failed to notify ${target} for robotPartId ${failed.partId}. ` +
    `Component: ${componentName}, Method: ${methodName}, TriggerType: ${failed.triggerType}, ` +
    `NotificationType: ${failed.notificationType}, Error: ${redactor.text(failed.error)}, ` +
    `ResponseCode: ${statusCode}`;
}

/** Writes failed attempts into the logs of the machine, where its people look. */
export class FailureLog {
  constructor(private readonly intake: Pick<LogIntake, "take">, private readonly host: string) {}

  /** Of a row of the outbox. */
  async noteRow(row: DeliveryRow, outcome: AttemptOutcome, at: Date): Promise<void> {
    if (outcome.kind === "delivered") return;
    await this.note({
      partId: row.part_id,
      triggerName: row.trigger_name,
      triggerType: row.trigger_type,
      notificationType: row.type,
      target: row.target,
      componentName: row.component_name ?? undefined,
      methodName: row.method_name ?? undefined,
      error: outcome.error,
      statusCode: outcome.statusCode,
    }, at);
  }

  async note(failed: FailedAttempt, at: Date): Promise<void> {
    await this.intake.take(failed.partId, [
      create(LogEntrySchema, {
        host: this.host,
        level: "error",
        time: timestampFromDate(at),
        loggerName: `app.trigger.${failed.triggerName}`,
        message: failureMessage(failed),
      }),
    ]);
  }
}
