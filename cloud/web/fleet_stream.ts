import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type FleetMachine,
  FleetMachineSchema,
  FleetMachineState,
  type WatchFleetResponse,
  WatchFleetResponseSchema,
} from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { ownVersion } from "../../shared/base/build_info/family_version.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { linkedController } from "../../shared/base/time/linked_controller.ts";
import { inOrder, inSlices } from "../api/paging/slices.ts";
import type { Callers } from "../accounts/access/callers.ts";
import type { Scope } from "../accounts/access/scope.ts";
import type { ChangedMachines } from "../fleet/presence/changed_machines.ts";
import type { PartPresence, Presence } from "../fleet/presence/presence.ts";
import type { LiveStatus } from "../fleet/watch/live_status.ts";
import { capturedPlaces, placeInMetadata, toGeoPoint } from "./machine_places.ts";

export interface FleetStreamOptions {
  readonly callers: Pick<Callers, "scope" | "watch">;
  readonly presence: Presence;
  readonly live: LiveStatus;
  readonly changed: Pick<ChangedMachines, "follow">;
  readonly clock: Clock;
}

/** Machines in one message. */
const PIECE = 500;
/** How often all that is shown is read. */
const LOOK_EVERY_MS = 1_000;
/** How often presence and health, which are in memory, are compared with what was sent. */
const COMPARE_EVERY_MS = 500;
/** How soon after what was sent last the machines that are said to have changed are read. */
const FOLLOW_EVERY_MS = 100;
/** A look at all takes at most one part in this many of the processor with a large fleet. */
const REST = 20;
/** But a change that was received waits no longer than this, however long what was read before it took. */
const LONGEST_REST_MS = 500;
const KEEPALIVE_MS = 10_000;

/**
 * The machines of an organisation that the caller sees, and then what changes of them, at once. What
 * nobody said, such as other names of locations or rights, is found at the next look at all. Rights
 * are read again with all of it, so a grant that is taken away takes its machines away.
 *
 * @throws ConnectError when the caller may not see the organisation, or not any more.
 */
export async function* watchFleet(
  organizationId: string,
  context: HandlerContext,
  { callers, presence, live, changed: changes, clock }: FleetStreamOptions,
): AsyncGenerator<WatchFleetResponse> {
  const allowed = async () => {
    const scope = await callers.scope(context);
    await scope.organization(organizationId, "see");
    return scope;
  };
  // A pause ends together with the right to see the organisation.
  const resting = linkedController(context.signal);
  const unwatch = callers.watch(
    async () => void await allowed(),
    (error) => resting.abort(error),
  );
  const hints = changes.follow(organizationId);
  const sent = new Map<string, Sent>();
  let isFirst = true;
  let saidAtMs = clock.monotonicMs();
  let lookAtMs = saidAtMs;
  let compareAtMs = saidAtMs;
  let hinted = new Set<string>();
  try {
    while (!context.signal.aborted) {
      const begunMs = clock.monotonicMs();
      const isLook = begunMs >= lookAtMs;
      const isCompare = begunMs >= compareAtMs;
      const changed: FleetMachine[] = [];
      const gone = new Set(isLook ? sent.keys() : [...hinted].filter((id) => sent.has(id)));
      const differ = isCompare && !isLook ? differing(sent, { presence, live }) : [];
      const ids = isLook ? undefined : [...new Set([...hinted, ...differ])];
      if (ids === undefined || ids.length > 0) {
        const scope = await allowed();
        for await (const machines of machinesOf(scope, organizationId, { presence, live }, ids)) {
          for (const { id } of machines) gone.delete(id);
          changed.push(...changedOf(machines, sent, { presence, live }));
        }
      }
      for (const id of gone) sent.delete(id);
      const removed = [...gone];
      const nowMs = clock.monotonicMs();
      if (isFirst || changed.length + removed.length > 0 || nowMs - saidAtMs >= KEEPALIVE_MS) {
        saidAtMs = nowMs;
        const time = timestampFromDate(clock.now());
        const last = Math.max(0, Math.ceil(changed.length / PIECE) - 1);
        for (let piece = 0; piece <= last; piece++) {
          yield create(WatchFleetResponseSchema, {
            machines: changed.slice(piece * PIECE, (piece + 1) * PIECE),
            removedIds: piece === last ? removed : [],
            complete: !isFirst || piece === last,
            time,
          });
        }
      }
      isFirst = false;
      const restMs = (nowMs - begunMs) * REST;
      if (isLook) lookAtMs = nowMs + Math.max(LOOK_EVERY_MS, restMs);
      // A look rests before the next look, and holds up nothing else.
      const ownRestMs = isLook ? 0 : Math.min(restMs, LONGEST_REST_MS);
      if (isCompare) compareAtMs = nowMs + Math.max(COMPARE_EVERY_MS, ownRestMs);
      await clock.sleep(Math.max(FOLLOW_EVERY_MS, ownRestMs), resting.signal)
        .catch(() => undefined);
      const pauseMs = Math.max(0, compareAtMs - clock.monotonicMs());
      hinted = new Set(await hints.take(clock, pauseMs, resting.signal));
      if (!context.signal.aborted) resting.signal.throwIfAborted();
    }
  } finally {
    unwatch();
    hints.close();
    resting.abort();
  }
}

type Known = Pick<FleetStreamOptions, "presence" | "live">;

/** A machine as it was sent. */
interface Sent {
  /** The message. */
  readonly content: string;
  readonly partId: string;
  /** What of it is in memory. */
  readonly known: string;
}

/** What the fleet shows of a part that is in memory. */
function knownOf(partId: string, { presence, live }: Known): string {
  const { state, facts } = presence.of(partId);
  const report = live.reported(partId);
  const { serverVersion, agentVersion, platform } = facts;
  return `${state} ${serverVersion} ${agentVersion} ${platform} ${report?.unhealthyResources} ` +
    `${report?.configError}`;
}

/** Ids of machines of which something in memory is not as it was sent. */
function differing(sent: ReadonlyMap<string, Sent>, known: Known): string[] {
  return [...sent].filter(([, { partId, known: before }]) => knownOf(partId, known) !== before)
    .map(([id]) => id);
}

/** What is to be sent, given what was; remembers it as sent. */
function changedOf(
  machines: readonly FleetMachine[],
  sent: Map<string, Sent>,
  known: Known,
): FleetMachine[] {
  const decoder = new TextDecoder("latin1");
  return machines.filter((machine) => {
    const partId = machine.mainPartId;
    const content = decoder.decode(toBinary(FleetMachineSchema, machine));
    const before = sent.get(machine.id)?.content;
    sent.set(machine.id, { content, partId, known: knownOf(partId, known) });
    return content !== before;
  });
}

/**
 * Those with the ids; by default all, by name. In slices, between which others are served.
 */
async function* machinesOf(
  scope: Scope,
  organizationId: string,
  known: Known,
  ids?: readonly string[],
): AsyncGenerator<FleetMachine[], void> {
  for await (const slice of inSlices(ids ?? await idsOf(scope, organizationId))) {
    yield await machinesWith(slice, scope, organizationId, known);
  }
}

async function idsOf(scope: Scope, organizationId: string): Promise<string[]> {
  const rows = await scope.machines().select("machines.id")
    .where("machines.org_id", "=", organizationId)
    .orderBy("machines.name").orderBy("machines.id").execute();
  return rows.map(({ id }) => id);
}

async function machinesWith(
  ids: readonly string[],
  scope: Scope,
  organizationId: string,
  { presence, live }: Known,
): Promise<FleetMachine[]> {
  const found = await scope.machinesAmong(ids)
    .innerJoin("locations", "locations.id", "machines.location_id")
    .leftJoin(
      "parts",
      (join) => join.onRef("parts.machine_id", "=", "machines.id").on("parts.is_main", "=", 1),
    )
    .leftJoin(
      "resource_metadata",
      (join) =>
        join.onRef("resource_metadata.resource_id", "=", "machines.id")
          .on("resource_metadata.resource_type", "=", "robot"),
    )
    .select(["machines.id", "machines.name", "machines.location_id", "machines.org_id"])
    .select(["locations.name as location_name", "parts.id as part_id", "resource_metadata.data"])
    .execute();
  const rows = found.filter((row) => row.org_id === organizationId);
  const places = await capturedPlaces(scope, rows.map(({ id }) => id));
  return inOrder(ids, rows).map((row) => {
    const partId = row.part_id ?? "";
    const known = presence.of(partId);
    const metadata: Metadata = row.data === null ? {} : JSON.parse(row.data);
    const report = live.reported(partId);
    const machine = create(FleetMachineSchema, {
      id: row.id,
      name: row.name,
      locationId: row.location_id,
      locationName: row.location_name,
      mainPartId: partId,
      state: STATES[known.state],
      serverVersion: ownVersion(known.facts.serverVersion ?? ""),
      agentVersion: known.facts.agentVersion ?? "",
      platform: known.facts.platform ?? "",
      tags: tagsOf(metadata),
      canManage: scope.allows("manage", {
        ...{ orgId: organizationId, locationId: row.location_id, machineId: row.id },
      }),
    });
    const place = places.get(row.id) ?? placeInMetadata(metadata);
    if (place) machine.position = toGeoPoint(place);
    if (known.state === "offline" && known.lastAccess) {
      machine.lastSeen = timestampFromDate(known.lastAccess);
    }
    if (known.state === "online" && report) {
      machine.configError = report.configError;
      machine.unhealthyResources = report.unhealthyResources;
    }
    return machine;
  });
}

const STATES: Readonly<Record<PartPresence["state"], FleetMachineState>> = {
  online: FleetMachineState.ONLINE,
  offline: FleetMachineState.OFFLINE,
  "awaiting-setup": FleetMachineState.AWAITING_SETUP,
};

/** What the fleet shows of a machine's metadata; anybody who manages it may write anything there. */
interface Metadata {
  readonly tags?: unknown;
}

/** The list `tags` in a machine's metadata; what is no text there is no tag. */
function tagsOf({ tags }: Metadata): string[] {
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
}
