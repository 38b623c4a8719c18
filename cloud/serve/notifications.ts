import { buildInfo } from "../../shared/base/build_info/build_info.ts";
import { TriggerService } from "../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Callers } from "../accounts/access/callers.ts";
import type { IngestListener } from "../data/ingest/ingested.ts";
import { withCallFailures } from "../storage/database/call_failures.ts";
import type { ChangeFeed } from "../storage/database/change_feed.ts";
import type { CloudDatabase } from "../storage/database/cloud_database.ts";
import { isPublicAddress, systemResolve } from "../triggers/delivery/address_guard.ts";
import { Deliverer } from "../triggers/delivery/deliverer.ts";
import { DeliveryStore } from "../triggers/delivery/delivery_store.ts";
import { FailureLog } from "../triggers/delivery/failure_log.ts";
import { notificationOf, NotificationSender } from "../triggers/delivery/notification_sender.ts";
import { DeliveryRetention } from "../triggers/delivery/retention.ts";
import { SigningSecrets } from "../triggers/delivery/signing_secrets.ts";
import { WebhookSender } from "../triggers/delivery/webhook.ts";
import type { DerivedSecrets } from "../storage/keys/derived_secrets.ts";
import type { Random } from "../storage/keys/random.ts";
import type { Nodes } from "../nodes/nodes.ts";
import type { RecentDocuments } from "../fleet/configuration/recent_documents.ts";
import type { LogIntake } from "../fleet/logs/log_intake.ts";
import type { LogStore } from "../fleet/logs/log_store.ts";
import { defaultSender, type Mail, Mailer } from "../triggers/mail/mailer.ts";
import type { Presence } from "../fleet/presence/presence.ts";
import { Firing } from "../triggers/rules/firing.ts";
import { LogWatch } from "../triggers/rules/log_watch.ts";
import { Liveness } from "../triggers/rules/liveness.ts";
import type { ArchivedReadings } from "../data/archive/archived_readings.ts";
import { openTriggerService } from "../triggers/rules/open_trigger_service.ts";
import { PartTriggers } from "../triggers/rules/part_triggers.ts";
import { Triggers } from "../triggers/rules/triggers.ts";

/** What the operator says about notifications. */
export interface NotificationSettings {
  /** Undefined: no mail is sent. */
  readonly smtpUrl?: string | undefined;
  /** Sender of mail; left out: `machine-cloud` at the host of the public URL. */
  readonly mailFrom?: string | undefined;
  /** Webhooks may lead into private networks and to this host. Default no. */
  readonly allowPrivateWebhooks?: boolean;
}

export interface NotificationsOptions extends NotificationSettings {
  readonly database: CloudDatabase;
  readonly archive: ArchivedReadings;
  readonly nodes: Nodes;
  readonly changes: ChangeFeed;
  readonly documents: RecentDocuments;
  readonly callers: Pick<Callers, "scope">;
  readonly presence: Presence;
  readonly secrets: DerivedSecrets;
  readonly intake: LogIntake;
  readonly logs: LogStore;
  readonly clock: Clock;
  /** By it things are too old to be kept. */
  readonly cautious: Clock;
  /** By it no notification expires too early. */
  readonly strict: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly publicUrl: () => string;
  /** Another process serves the folder, and sends what this one leaves to be sent. */
  readonly isServedElsewhere?: boolean;
}

/** Triggers and all that brings their notifications to receivers, put together. */
export interface Notifications {
  /** Notified of data that arrives. */
  readonly listener: IngestListener;
  readonly deliverer: Deliverer;
  readonly liveness: Liveness;
  readonly logWatch: LogWatch;
  readonly retention: DeliveryRetention;
  /** Sends one mail; undefined where there is no mail server. */
  readonly sendMail: ((mail: Mail) => Promise<string>) | undefined;
  mount(router: RpcRouter): void;
  /** Reads what was logged and not reported. */
  load(): Promise<void>;
  /** Looks at what is logged, and deletes what is old, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** For one node: sends what waits, and notes who comes and goes, until the signal aborts. */
  lead(signal: AbortSignal): Promise<void>;
  /** Ends what is under way and lets go of everything. */
  close(): Promise<void>;
}

export function openNotifications(options: NotificationsOptions): Notifications {
  const { database, nodes, changes, callers, presence, clock, random, log } = options;
  const { queries } = database;
  const { smtpUrl, publicUrl } = options;
  const signing = new SigningSecrets(queries, options.secrets, clock);
  const webhooks = new WebhookSender({
    clock,
    isAllowed: options.allowPrivateWebhooks ? () => true : isPublicAddress,
    resolve: systemResolve,
    userAgent: `machine-cloud/${buildInfo.version}`,
  });
  const from = () => options.mailFrom ?? defaultSender(publicUrl());
  const mailer = smtpUrl === undefined ? undefined : new Mailer({ smtpUrl, from });
  const sendMail = mailer && ((mail: Mail) => mailer.send(mail));
  const sender = new NotificationSender({ webhooks, mailer, secrets: signing, clock, publicUrl });
  const failures = new FailureLog(options.intake, "machine-cloud");
  const deliverer = new Deliverer({
    store: new DeliveryStore(database),
    send: (row, signal) => sender.send(notificationOf(row), signal),
    failed: (row, outcome, at) => failures.noteRow(row, outcome, at),
    isSender: () => nodes.leadership.isLeader,
    foreignVersion: () => database.foreignVersion(),
    clock,
    cautious: options.cautious,
    log: log.child("delivery"),
  });
  const retention = new DeliveryRetention(queries, options.cautious, log.child("delivery"));
  const partTriggers = new PartTriggers(changes);
  const firing = new Firing({
    random,
    strict: options.strict,
    waitingOf: (partId, name) => deliverer.waitingOf(partId, name),
    posted: (partId, name) => retention.fired(partId, name),
  });
  // The node that sends looks each second; this is sooner.
  const wake = () => {
    deliverer.wake();
    if (nodes.leadership.isLeader) return;
    void nodes.bus.publish(DELIVERY_TOPIC, "").catch(() => undefined);
  };
  const woken = nodes.bus.subscribe(DELIVERY_TOPIC, () => deliverer.wake());
  const triggers = new Triggers({ triggers: partTriggers, firing, wake });
  const liveness = new Liveness({ queries, presence, triggers, clock, log: log.child("triggers") });
  const logWatch = new LogWatch({
    queries,
    changes,
    triggers: partTriggers,
    firing,
    intake: options.intake,
    logs: options.logs,
    committed: wake,
    clock,
    log: log.child("triggers"),
  });
  return {
    listener: triggers,
    deliverer,
    liveness,
    logWatch,
    retention,
    sendMail,
    mount(router) {
      const { secrets, strict, documents } = options;
      const lookAgain = () => {
        deliverer.lookAgain();
        wake();
      };
      const wakes = options.isServedElsewhere ? SOMEBODY_ELSE : { wake, lookAgain };
      const settings = () => ({
        ...mailServerOf(smtpUrl),
        mailFrom: mailer ? from() : "",
        privateWebhooks: options.allowPrivateWebhooks ?? false,
      });
      const service = {
        ...{ queries, callers, changes, documents, secrets, clock, strict, random, settings },
        archive: options.archive,
        sendMail,
        deliverer: wakes,
      };
      router.service(TriggerService, withCallFailures(openTriggerService(service)));
    },
    async load() {
      await logWatch.load();
    },
    async run(signal) {
      deliverer.wake();
      using _ = nodes.listen(({ kind }) => {
        if (kind === "died" || kind === "left") logWatch.readAgain();
      });
      await Promise.all([logWatch.run(signal), retention.run(signal)]);
    },
    async lead(signal) {
      // What another node has sent or left is seen now.
      deliverer.lookAgain();
      await liveness.load();
      await liveness.run(signal);
    },
    async close() {
      woken[Symbol.dispose]();
      await deliverer.close();
      partTriggers.close();
      logWatch.close();
      webhooks.close();
      await mailer?.close();
    },
  };
}

/** What people may see of the mail server's address: no user, no password. */
function mailServerOf(smtpUrl: string | undefined) {
  if (smtpUrl === undefined) return { mailServer: "", mailServerTls: false };
  const { host, protocol } = new URL(smtpUrl);
  return { mailServer: host, mailServerTls: protocol === "smtps:" };
}

/** Something may have to be sent. */
const DELIVERY_TOPIC = "deliveries";
/** The process that serves the folder sees what is to be sent within a second. */
const SOMEBODY_ELSE = { wake: () => {}, lookAgain: () => {} };
