import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  OnlineState,
  type Robot,
  type RobotPart,
  type RobotPartHistoryEntry,
  RobotPartHistoryEntrySchema,
  RobotPartSchema,
  RobotSchema,
  SharedSecret_State,
  SharedSecretSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { ownVersion } from "../../../shared/base/build_info/family_version.ts";
import type { MachineRow, PartRow } from "../../accounts/access/scope.ts";
import type { SharedSecretValue } from "../../accounts/access/secrets.ts";
import type { PartPresence } from "../presence/presence.ts";
import { parseDocument } from "../configuration/config_document.ts";
import { toEditedBy } from "../configuration/edited_by.ts";
import { hostNames } from "../../api/addresses/host_names.ts";
import type { RevisionRow } from "./revisions.ts";

/** The part of a `RobotPart` that only those who manage the machine see. */
export interface ManagedView {
  readonly revision: RevisionRow;
  readonly secrets: readonly SharedSecretValue[];
}

export function toRobotPart(
  part: PartRow,
  presence: PartPresence,
  domain: string,
  now: Date,
  managed?: ManagedView,
): RobotPart {
  const { fqdn, localFqdn } = hostNames(part.dns_label, part.location_id, domain);
  const message = create(RobotPartSchema, {
    id: part.id,
    name: part.name,
    dnsName: part.dns_label,
    robot: part.machine_id,
    locationId: part.location_id,
    userSuppliedInfo: userSuppliedInfo(presence),
    mainPart: part.is_main === 1,
    fqdn,
    localFqdn,
    createdOn: timestampFromMs(part.created_at),
    lastUpdated: timestampFromMs(part.last_updated),
    ...onlineFields(presence, now),
  });
  if (managed) {
    message.robotConfig = parseDocument(managed.revision.config).value;
    message.robotConfigJson = managed.revision.config;
    message.secret = managed.secrets[0]?.value ?? "";
    message.secrets = managed.secrets.map((secret) =>
      create(SharedSecretSchema, {
        id: secret.id,
        secret: secret.value,
        createdOn: timestampFromMs(secret.createdAtMs),
        state: SharedSecret_State.ENABLED,
      })
    );
  }
  return message;
}

/** `presence` is that of the machine's main part. */
export function toRobot(machine: MachineRow, presence: PartPresence, now: Date): Robot {
  return create(RobotSchema, {
    id: machine.id,
    name: machine.name,
    location: machine.location_id,
    createdOn: timestampFromMs(machine.created_at),
    ...onlineFields(presence, now),
  });
}

/** One save: what was there before it, when and by whom it was replaced. */
export function toHistoryEntry(
  part: PartRow,
  entry: { save: RevisionRow; before: RevisionRow; byDeletedKey: boolean },
): RobotPartHistoryEntry {
  const { save, before } = entry;
  return create(RobotPartHistoryEntrySchema, {
    part: part.id,
    robot: part.machine_id,
    when: timestampFromMs(save.saved_at),
    old: create(RobotPartSchema, {
      id: part.id,
      name: before.part_name,
      robot: part.machine_id,
      locationId: part.location_id,
      mainPart: part.is_main === 1,
      robotConfig: parseDocument(before.config).value,
      robotConfigJson: before.config,
      lastUpdated: timestampFromMs(before.saved_at),
    }),
    editedBy: toEditedBy(save, entry.byDeletedKey),
  });
}

const ONLINE_STATES: Readonly<Record<PartPresence["state"], OnlineState>> = {
  online: OnlineState.ONLINE,
  offline: OnlineState.OFFLINE,
  "awaiting-setup": OnlineState.AWAITING_SETUP,
};

/** Since when and whether a part is online, as several messages say it. */
export function onlineFields(presence: PartPresence, now: Date): {
  onlineState: OnlineState;
  secondsSinceOnline: bigint;
  lastAccess?: Timestamp;
} {
  const { state, lastAccess } = presence;
  const onlineState = ONLINE_STATES[state];
  if (!lastAccess) return { onlineState, secondsSinceOnline: 0n };
  const agoMs = state === "online" ? 0 : Math.max(0, now.getTime() - lastAccess.getTime());
  return {
    onlineState,
    secondsSinceOnline: BigInt(Math.floor(agoMs / 1000)),
    lastAccess: timestampFromDate(lastAccess),
  };
}

function userSuppliedInfo({ facts }: PartPresence): Record<string, string | string[]> {
  const info: Record<string, string | string[] | undefined> = {
    // The release of the family that clients compare, then the server's own.
    version: facts.serverVersion,
    server_version: facts.serverVersion && ownVersion(facts.serverVersion),
    agent_version: facts.agentVersion,
    host: facts.host,
    os: facts.os,
    platform: facts.platform,
    ips: facts.ips && [...facts.ips],
  };
  return Object.fromEntries(
    Object.entries(info).filter((entry): entry is [string, string | string[]] =>
      entry[1] !== undefined
    ),
  );
}
