import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  KeyRole,
  type MachineService,
  type WatchResponse,
  WatchResponseSchema,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { hashSecret } from "../../../shared/cloud/auth/secret_hash.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ApiKeys } from "../../accounts/access/api_keys.ts";
import { type Callers, tokenIssuedMs } from "../../accounts/access/callers.ts";
import { Openings } from "../../accounts/access/openings.ts";
import { partPlace } from "../../accounts/access/scope.ts";
import type { SharedSecrets, SharedSecretValue } from "../../accounts/access/secrets.ts";
import type { MachineCertificates } from "../../accounts/certificates/machine_certificates.ts";
import type { Restarts } from "../machines/restarts.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { effectiveConfig } from "../fragments/effective_configs.ts";
import type { Presence } from "../presence/presence.ts";
import type { DeviceCalls, NumberedCall } from "../relay/device_calls.ts";
import type { RelayBus } from "../relay/relay_bus.ts";
import { LIVE_FOR_MS, type LiveStatus } from "./live_status.ts";
import type { Watchers, WatchEvent } from "./watchers.ts";

export interface MachineServiceOptions {
  readonly callers: Callers;
  readonly keys: ApiKeys;
  readonly secrets: SharedSecrets;
  readonly queries: Queries;
  readonly restarts: Restarts;
  readonly presence: Presence;
  readonly watchers: Watchers;
  readonly live: LiveStatus;
  readonly deviceCalls: DeviceCalls;
  readonly relayBus: RelayBus;
  readonly certificates: Pick<MachineCertificates, "rootPem">;
  readonly clock: Clock;
}

const KEEPALIVE_MS = 10_000;
/** At each of so many signs of life in a row the database is asked all the same. */
const LOOK_AT_KEEPALIVES = 6;

/** `machine.cloud.v1.MachineService`: what a machine's server asks beyond the public API. */
export function machineService(
  options: MachineServiceOptions,
): ServiceImpl<typeof MachineService> {
  const { callers, keys, secrets, restarts, presence, watchers, live, certificates, clock } =
    options;
  const { deviceCalls } = options;
  return {
    async *watch({ partId, takesCalls }, context) {
      const part = await (await callers.scope(context)).part(partId, "report");
      const mailbox = watchers.follow({ id: part.id, orgId: part.org_id });
      const gone = presence.opened(part.id);
      const device = takesCalls
        ? deviceCalls.opened(part.id, () => mailbox.put("calls"))
        : undefined;
      // Also when it never takes what it was sent last.
      context.signal.addEventListener("abort", () => device?.close(), { once: true });
      try {
        await restarts.opened(part, tokenIssuedMs(context));
        mailbox.put("config");
        if (live.isLookedAt(part.id)) mailbox.put("live");
        for (let revision = "", quiet = 0; !context.signal.aborted && !mailbox.closed;) {
          const events = new Set(await mailbox.take(clock, KEEPALIVE_MS, context.signal));
          quiet = events.size === 0 ? quiet + 1 : 0;
          // The stream ends when the credentials behind it were taken back.
          const scope = await callers.scope(context);
          // Every change is an event, so that most signs of life ask the database nothing.
          if (quiet % LOOK_AT_KEEPALIVES === 0) {
            const { id } = await scope.part(partId, "report");
            revision = (await effectiveConfig(options.queries, id)).revision;
          }
          if (events.size === 0) yield keepalive(revision);
          for (const event of events) {
            if (event === "calls") yield* device?.take().map(relayedCall) ?? [];
            else yield event === "config" ? configChanged(revision) : message(event);
          }
        }
      } finally {
        device?.close();
        gone();
        mailbox.close();
      }
      throw new ConnectError("the cloud is shutting down; connect again", Code.Unavailable);
    },

    async listAccessKeys({ partId }, context) {
      const part = await (await callers.scope(context)).part(partId, "report");
      const place = partPlace(part);
      const openings = await Openings.of(options.queries, keys, place);
      const [opening, people, own, location] = await Promise.all([
        openings.ofKeys(),
        openings.ofPeople(),
        secrets.ofPart(part.id),
        secrets.ofLocation(part.location_id),
      ]);
      return {
        keys: [...opening, ...people].map(({ id, hash, role }) => ({
          ...{ id, hash },
          role: role === "owner" ? KeyRole.OWNER : KeyRole.OPERATOR,
        })),
        partSecrets: own.map((secret) => hashed(secret, part.id)),
        locationSecrets: location.map((secret) => hashed(secret, part.id)),
      };
    },

    async getCertificateAuthority(_request, context) {
      await callers.scope(context);
      return { pem: await certificates.rootPem() };
    },

    async reportStatus(request, context) {
      const part = await (await callers.scope(context)).part(request.partId, "report");
      presence.seen(part.id);
      live.report(request);
      return {};
    },

    async answerCalls({ partId, answers }, context) {
      const part = await (await callers.scope(context)).part(partId, "report");
      options.relayBus.answer(part.id, answers);
      return {};
    },
  };
}

/** A hash for one part only, so that what one machine holds says nothing about another's. */
function hashed({ id, value }: SharedSecretValue, partId: string) {
  return { id, hash: hashSecret(value, `${partId} ${id}`) };
}

function configChanged(revision: string): WatchResponse {
  return create(WatchResponseSchema, { event: { case: "configChanged", value: { revision } } });
}

function keepalive(revision: string): WatchResponse {
  return create(WatchResponseSchema, { event: { case: "keepalive", value: { revision } } });
}

function relayedCall({ isOwner, ...call }: NumberedCall): WatchResponse {
  const role = isOwner ? KeyRole.OWNER : KeyRole.OPERATOR;
  return create(WatchResponseSchema, { event: { case: "relayedCall", value: { ...call, role } } });
}

function message(event: Exclude<WatchEvent, "config" | "calls">): WatchResponse {
  switch (event) {
    case "access":
      return create(WatchResponseSchema, { event: { case: "accessChanged", value: {} } });
    case "restart":
      return create(WatchResponseSchema, { event: { case: "restartRequested", value: {} } });
    case "live": {
      const duration = durationFromMs(LIVE_FOR_MS);
      return create(WatchResponseSchema, { event: { case: "liveRequested", value: { duration } } });
    }
  }
}
