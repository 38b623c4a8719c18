import type { ServiceImpl } from "@connectrpc/connect";
import type { TriggerService } from "../../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { ArchivedReadings } from "../../data/archive/archived_readings.ts";
import { DeliveryLog } from "../delivery/delivery_log.ts";
import { SigningSecrets } from "../delivery/signing_secrets.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { Mail } from "../mail/mailer.ts";
import { TestMails } from "../mail/test_mail.ts";
import type { RecentDocuments } from "../../fleet/configuration/recent_documents.ts";
import { Revisions } from "../../fleet/machines/revisions.ts";
import { recentReadings } from "./recent_readings.ts";
import { Trials } from "./trials.ts";
import { TriggerEditor } from "./trigger_editor.ts";
import { type NotificationFacts, triggerService } from "./trigger_service.ts";

export interface OpenTriggerServiceOptions {
  readonly queries: Queries;
  readonly archive: ArchivedReadings;
  readonly callers: Pick<Callers, "scope">;
  readonly changes: ChangeFeed;
  readonly documents: RecentDocuments;
  readonly secrets: DerivedSecrets;
  readonly clock: Clock;
  /** By it no notification that is sent again expires too early. */
  readonly strict: Clock;
  readonly random: Random;
  /** What the operator set. */
  readonly settings: () => NotificationFacts;
  /** Undefined: there is no mail server. */
  readonly sendMail: ((mail: Mail) => Promise<string>) | undefined;
  /** Notified that something may have to be sent; another process finds out itself. */
  readonly deliverer: { wake(): void; lookAgain(): void };
}

/** The calls about triggers over one database, also next to a process that serves it. */
export function openTriggerService(
  options: OpenTriggerServiceOptions,
): ServiceImpl<typeof TriggerService> {
  const { queries, callers, changes, documents, clock, strict, random, deliverer } = options;
  const deliveries = new DeliveryLog(queries, strict);
  const recent = recentReadings(queries, options.archive);
  const wake = () => deliverer.wake();
  return triggerService({
    callers,
    queries,
    archive: options.archive,
    editor: new TriggerEditor(new Revisions(queries, changes, clock, documents), documents),
    deliveries,
    secrets: new SigningSecrets(queries, options.secrets, clock),
    recent,
    clock,
    settings: options.settings,
    testMails: new TestMails({
      ...{ sendMail: options.sendMail, random },
      monotonicMs: () => clock.monotonicMs(),
    }),
    trials: new Trials({ queries, deliveries, recent, wake, clock, random }),
    lookAgain: () => deliverer.lookAgain(),
  });
}
