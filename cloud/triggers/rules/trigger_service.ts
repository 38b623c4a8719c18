import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { isEmail } from "../../../shared/config/forms.ts";
import type {
  OwnedResource,
  TriggerService,
} from "../../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { DeliveryLog } from "../delivery/delivery_log.ts";
import { lastFailure } from "../delivery/last_failure.ts";
import { formatSigningSecret } from "../delivery/signature.ts";
import type { SigningSecrets } from "../delivery/signing_secrets.ts";
import type { TestMails } from "../mail/test_mail.ts";
import { pageSize, pageToken, parsePageToken } from "../../api/paging/paging.ts";
import { explain } from "./condition.ts";
import { type Owned, readOwners, writeOwners } from "./owners.ts";
import type { ArchivedReadings } from "../../data/archive/archived_readings.ts";
import { countPast } from "./past_counts.ts";
import type { RecentReadings } from "./recent_readings.ts";
import type { Trials } from "./trials.ts";
import { readTrigger, type TriggerDefinition, type TriggerEntry } from "./trigger_definition.ts";
import type { TriggerEditor } from "./trigger_editor.ts";
import { listTriggers } from "./trigger_list.ts";
import { toComparison, toDelivery, toFailure, toPast, toTrigger } from "./trigger_messages.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** How the cloud sends mail and webhooks. */
export interface NotificationFacts {
  /** Host and port; empty: no mail is sent. */
  readonly mailServer: string;
  readonly mailServerTls: boolean;
  readonly mailFrom: string;
  readonly privateWebhooks: boolean;
}

export interface TriggerServiceOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly archive: ArchivedReadings;
  readonly editor: TriggerEditor;
  readonly deliveries: DeliveryLog;
  readonly secrets: SigningSecrets;
  readonly recent: RecentReadings;
  readonly clock: Clock;
  readonly trials: Trials;
  readonly settings: () => NotificationFacts;
  readonly testMails: TestMails;
  /** Something that was over waits again. */
  readonly lookAgain: () => void;
}

const USUAL_PREVIEW = 100;
const MOST_PREVIEW = 1_000;
const USUAL_DELIVERIES = 50;
const MOST_DELIVERIES = 500;
const MOST_OWNERS = 100;

/** `machine.cloud.v1.TriggerService` */
export function triggerService(options: TriggerServiceOptions): ServiceImpl<typeof TriggerService> {
  const { callers, queries, archive, editor, deliveries, secrets, recent, trials, clock } = options;
  const managed = async (partId: string, context: HandlerContext) => {
    const scope = await callers.scope(context);
    return { part: await scope.part(partId, "manage"), actor: scope.caller.actor };
  };
  return {
    async listTriggers({ partId, pageToken: token }, context) {
      const scope = await callers.scope(context);
      if (partId !== "") await scope.part(partId, "manage");
      const page = await listTriggers(scope, queries, deliveries, { partId, after: token });
      return { triggers: page.triggers.map(toTrigger), nextPageToken: page.next };
    },

    async setTrigger({ partId, trigger, replaces }, context) {
      const { part, actor } = await managed(partId, context);
      await editor.set(part, required(trigger), replaces, actor);
      return {};
    },

    async deleteTrigger({ partId, name }, context) {
      const { part, actor } = await managed(partId, context);
      await editor.delete(part, name, actor);
      return {};
    },

    async previewTrigger({ partId, trigger, name, limit, since }, context) {
      const { part } = await managed(partId, context);
      const entry = trigger ? readTrigger(trigger) : await editor.read(part, name);
      const { method, condition } = defined(entry);
      if (!method) {
        throw new ConnectError(
          "only triggers of type conditional_data_ingested compare readings",
          Code.FailedPrecondition,
        );
      }
      const most = pageSize(BigInt(limit), USUAL_PREVIEW, MOST_PREVIEW);
      const readings = await recent(part.id, method, most);
      const past = since &&
        await countPast(
          { queries, archive },
          clock,
          { partId: part.id, method, condition },
          timestampMs(since),
        );
      return {
        ...(past ? { past: toPast(past) } : {}),
        readings: readings.map(({ receivedAt, data }) => {
          const comparisons = explain(condition, data);
          return {
            receivedAt: timestampFromDate(receivedAt),
            data,
            holds: comparisons.every(({ outcome }) => outcome === "holds"),
            comparisons: comparisons.map(toComparison),
          };
        }),
      };
    },

    async testTrigger({ partId, name }, context) {
      const { part } = await managed(partId, context);
      const trigger = defined(await editor.read(part, name));
      const tried = await trials.run(part.id, trigger, context.signal);
      return { deliveries: tried.map(toDelivery) };
    },

    async listDeliveries({ partId, triggerName, limit, pageToken: token }, context) {
      const { part } = await managed(partId, context);
      const size = pageSize(BigInt(limit), USUAL_DELIVERIES, MOST_DELIVERIES);
      const after = parsePageToken(token, 1);
      const logged = await deliveries.list(part.id, {
        triggerName: triggerName === "" ? undefined : triggerName,
        below: after && Number(after[0]),
        limit: size,
      });
      const last = logged.length === size ? logged.at(-1) : undefined;
      return {
        deliveries: logged.map(toDelivery),
        nextPageToken: last ? pageToken(last.delivery.seq) : "",
      };
    },

    async replayDelivery({ partId, deliveryId }, context) {
      const scope = await callers.scope(context);
      const ofPart = partId || await deliveries.partOf(deliveryId);
      const part = await scope.part(ofPart ?? "", "manage").catch((error) => {
        throw partId === "" ? notFound("delivery", deliveryId) : error;
      });
      await deliveries.replay(part.id, deliveryId);
      options.lookAgain();
      return {};
    },

    async getTriggerSecret({ partId, name }, context) {
      const { part } = await managed(partId, context);
      await editor.read(part, name);
      const generation = await secrets.generationOf(part.id, name);
      const { rotatedAtMs } = generation;
      return {
        secret: shownSecret(secrets.signing(part.id, name, generation)),
        ...(rotatedAtMs === undefined ? {} : { rotatedAt: timestampFromMs(rotatedAtMs) }),
      };
    },

    async rotateTriggerSecret({ partId, name }, context) {
      const { part } = await managed(partId, context);
      await editor.read(part, name);
      const generation = await secrets.rotate(part.id, name);
      return { secret: shownSecret(secrets.signing(part.id, name, generation)) };
    },

    async listOwnerEmails({ resource }, context) {
      const scope = await callers.scope(context);
      const { orgId, owned } = await ownedOf(scope, resource);
      return { emails: await readOwners(queries, orgId, owned) };
    },

    async setOwnerEmails({ resource, emails }, context) {
      const scope = await callers.scope(context);
      const { orgId, owned } = await ownedOf(scope, resource);
      checkEmails(emails);
      await writeOwners(queries, orgId, owned, emails);
      return {};
    },

    async getNotificationSettings({ organizationId }, context) {
      const scope = await callers.scope(context);
      const { id } = await scope.organization(organizationId, "manage");
      const mailFailure = await lastFailure(queries, id, "email");
      const webhookFailure = await lastFailure(queries, id, "webhook");
      return {
        ...options.settings(),
        ...(mailFailure && { mailFailure: toFailure(mailFailure) }),
        ...(webhookFailure && { webhookFailure: toFailure(webhookFailure) }),
      };
    },

    async sendTestMail({ organizationId, to }, context) {
      const scope = await callers.scope(context);
      const { id: orgId, name: organization } = await scope.organization(organizationId, "manage");
      const { actor, person } = scope.caller;
      const own = person ? actor.id : "";
      const owners = await readOwners(queries, orgId, { type: "organization", id: orgId });
      const receiver = to || own;
      if (receiver === "" || receiver !== own && !owners.includes(receiver)) {
        throw new ConnectError(
          "to: name your own address or one of the organisation's owner e-mails (SetOwnerEmails)",
          Code.InvalidArgument,
        );
      }
      return await options.testMails.send({ orgId, organization, to: receiver, from: actor.id });
    },
  };
}

function required(trigger: JsonObject | undefined): JsonObject {
  if (trigger) return trigger;
  throw new ConnectError("the trigger is missing", Code.InvalidArgument);
}

/** Throws for a trigger that could never fire. */
function defined({ definition, problem }: TriggerEntry): TriggerDefinition {
  if (definition) return definition;
  throw refusal(
    "TRIGGER_UNUSABLE",
    { problem: problem ?? "" },
    `the trigger cannot be used: ${problem}`,
    Code.FailedPrecondition,
  );
}

function shownSecret([newest]: readonly Uint8Array[]): string {
  return formatSigningSecret(newest ?? new Uint8Array());
}

async function ownedOf(
  scope: Scope,
  message: OwnedResource | undefined,
): Promise<{ orgId: string; owned: Owned }> {
  const { case: kind, value: id = "" } = message?.resource ?? {};
  switch (kind) {
    case "organizationId": {
      const row = await scope.organization(id, "manage");
      return { orgId: row.id, owned: { type: "organization", id } };
    }
    case "locationId": {
      const row = await scope.location(id, "manage");
      return { orgId: row.org_id, owned: { type: "location", id } };
    }
    case "machineId": {
      const row = await scope.machine(id, "manage");
      return { orgId: row.org_id, owned: { type: "robot", id } };
    }
    default:
      throw new ConnectError(
        "resource: name an organization, a location or a machine",
        Code.InvalidArgument,
      );
  }
}

function checkEmails(emails: readonly string[]): void {
  const wrong = emails.find((email) => !isEmail(email));
  if (wrong !== undefined) {
    throw refusal(
      "EMAIL_INVALID",
      { email: wrong },
      `emails: ${JSON.stringify(wrong)} is no e-mail address`,
      Code.InvalidArgument,
    );
  }
  if (emails.length > MOST_OWNERS) {
    throw refusal(
      "TOO_MANY",
      { most: MOST_OWNERS },
      `emails: ${MOST_OWNERS} are allowed`,
      Code.InvalidArgument,
    );
  }
}
