import { Buffer } from "node:buffer";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type GetMachineStatusResponse,
  ResourceStatus_State,
} from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import {
  type ReportStatusRequest,
  ReportStatusRequestSchema,
  type ResourceReadings,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { NodeBroadcast } from "../../nodes/node_broadcast.ts";
import { LARGEST_PAYLOAD } from "../../nodes/node_bus.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import type { Watchers } from "./watchers.ts";

/** What a part's server reported last. */
export interface LiveReport {
  readonly reportedAt: Date;
  readonly status: GetMachineStatusResponse | undefined;
  readonly configError: string;
  readonly readings: readonly ResourceReadings[];
}

/** What a list shows of a part. */
export interface PartHealth {
  readonly configError: string;
  readonly unhealthyResources: number;
}

interface Kept extends LiveReport {
  readonly readAtMs: number;
  readonly health: PartHealth;
}

interface ToldHealth extends PartHealth {
  readonly id: string;
}

/** How long a server reports readings after somebody looked. */
export const LIVE_FOR_MS = 10_000;
const ASK_EVERY_MS = 4_000;
/** Readings older than this are not shown: nobody looked meanwhile. */
const READINGS_AGE_MS = 15_000;

/** A node learns of it within this time when the health of a part changes. */
const TELL_MS = 250;
/** Somebody looks at a part, on another node. */
const LOOK_TOPIC = "live-look";
/** What a part reports, for the node on which somebody looks. */
const REPORT_TOPIC = "live-report";

/**
 * Status and readings of parts; in memory only. A report is where the part is connected, and goes to
 * the nodes on which somebody looks at it; its health goes to all.
 */
export class LiveStatus {
  readonly #reports = new Map<string, Kept>();
  readonly #askedAtMs = new Map<string, number>();
  /** Of parts that report to other nodes. */
  readonly #healthElsewhere = new Map<string, PartHealth>();
  /** Nodes on which somebody looks, by part, each with the time until which it gets reports. */
  readonly #wanted = new Map<string, Map<string, number>>();
  #nodes: Nodes | undefined;
  #shared: NodeBroadcast<ToldHealth> | undefined;

  constructor(private readonly watchers: Watchers, private readonly clock: Clock) {}

  /** Shares it with the other nodes, until the result is disposed of. */
  share(nodes: Nodes, log: Logger): AsyncDisposable {
    this.#nodes = nodes;
    const shared = this.#shared = new NodeBroadcast({
      topic: "live-health",
      all: () => [...this.#reports].map(([id, { health }]) => ({ id, ...health })),
      heard: (parts) => {
        for (const { id, ...health } of parts) {
          this.#healthElsewhere.set(id, health);
          // The part has moved to that node.
          if (!this.#isWantedHere(id)) this.#reports.delete(id);
        }
      },
      gone: () => undefined, // what was reported last still holds
      ...{ nodes, clock: this.clock, log },
    });
    const subscriptions = [
      nodes.bus.subscribe(LOOK_TOPIC, ({ from, payload }) => {
        if (from !== nodes.id) this.#lookedAt(payload, from);
      }),
      nodes.bus.subscribe(REPORT_TOPIC, ({ from, payload }) => {
        if (from === nodes.id) return;
        this.#keep(fromBinary(ReportStatusRequestSchema, Buffer.from(payload, "base64")));
      }),
    ];
    return {
      [Symbol.asyncDispose]: async () => {
        for (const one of subscriptions) one[Symbol.dispose]();
        await shared[Symbol.asyncDispose]();
      },
    };
  }

  report(request: ReportStatusRequest): void {
    const before = this.#reports.get(request.partId)?.health;
    const { health } = this.#keep(request);
    const hasMoved = this.#healthElsewhere.delete(request.partId);
    if (hasMoved || !before || !isSame(before, health)) {
      const { partId } = request;
      this.#shared?.send(partId, () => ({ id: partId, ...health }), TELL_MS);
    }
    this.#pass(request);
  }

  #keep(request: ReportStatusRequest): Kept {
    const nowMs = this.clock.monotonicMs();
    const before = this.#reports.get(request.partId);
    // A report of a change carries no readings; those of a moment ago still hold.
    const hasReadings = request.readings.length > 0;
    const status = request.status ?? before?.status;
    const kept: Kept = {
      reportedAt: this.clock.now(),
      status,
      configError: request.configError,
      readings: hasReadings ? request.readings : before?.readings ?? [],
      readAtMs: hasReadings ? nowMs : before?.readAtMs ?? nowMs,
      health: { configError: request.configError, unhealthyResources: unhealthy(status) },
    };
    this.#reports.set(request.partId, kept);
    return kept;
  }

  /** Somebody looks: what is known, and the part's server is requested more. */
  look(partId: string): LiveReport | undefined {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - (this.#askedAtMs.get(partId) ?? -Infinity) >= ASK_EVERY_MS) {
      this.#askedAtMs.set(partId, nowMs);
      this.watchers.tell(partId, "live");
      this.#publish(LOOK_TOPIC, partId, undefined);
    }
    const report = this.#reports.get(partId);
    if (!report) return undefined;
    return nowMs - report.readAtMs > READINGS_AGE_MS ? { ...report, readings: [] } : report;
  }

  /** What a part reported last, for a list: nothing is requested from its server. */
  reported(partId: string): PartHealth | undefined {
    return this.#healthElsewhere.get(partId) ?? this.#reports.get(partId)?.health;
  }

  /** Whether somebody looked within the last moments: a stream that opens now shall know. */
  isLookedAt(partId: string): boolean {
    return this.#isWantedHere(partId) || this.#nodesLooking(partId).length > 0;
  }

  #isWantedHere(partId: string): boolean {
    return this.clock.monotonicMs() - (this.#askedAtMs.get(partId) ?? -Infinity) < LIVE_FOR_MS;
  }

  #lookedAt(partId: string, node: string): void {
    const nodes = this.#wanted.get(partId) ?? new Map<string, number>();
    this.#wanted.set(partId, nodes.set(node, this.clock.monotonicMs() + LIVE_FOR_MS));
    this.watchers.tell(partId, "live");
    const kept = this.#reports.get(partId);
    // Another node may have it from the part by now.
    if (!kept || this.#healthElsewhere.has(partId)) return;
    const { status, configError, readings } = kept;
    this.#pass(create(ReportStatusRequestSchema, {
      ...{ partId, configError, readings: [...readings] },
      ...(status ? { status } : {}),
    }));
  }

  #nodesLooking(partId: string): string[] {
    const nodes = this.#wanted.get(partId);
    if (!nodes) return [];
    const nowMs = this.clock.monotonicMs();
    for (const [node, untilMs] of nodes) if (untilMs <= nowMs) nodes.delete(node);
    if (nodes.size === 0) this.#wanted.delete(partId);
    return [...nodes.keys()];
  }

  #pass(request: ReportStatusRequest): void {
    const nodes = this.#nodesLooking(request.partId);
    if (nodes.length === 0) return;
    const text = Buffer.from(toBinary(ReportStatusRequestSchema, request)).toString("base64");
    // A page that waits for it shows what it has.
    if (text.length > LARGEST_PAYLOAD) return;
    for (const node of nodes) this.#publish(REPORT_TOPIC, text, node);
  }

  #publish(topic: string, payload: string, to: string | undefined): void {
    const nodes = this.#nodes;
    if (!nodes || nodes.members().length === 1) return;
    // Somebody who looks asks again.
    void nodes.bus.publish(topic, payload, to).catch(() => undefined);
  }
}

function unhealthy(status: GetMachineStatusResponse | undefined): number {
  return status?.resources.filter(({ state }) => state === ResourceStatus_State.UNHEALTHY)
    .length ?? 0;
}

function isSame(one: PartHealth, other: PartHealth): boolean {
  return one.configError === other.configError &&
    one.unhealthyResources === other.unhealthyResources;
}
