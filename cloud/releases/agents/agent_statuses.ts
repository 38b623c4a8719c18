import { create, equals, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import {
  type AgentStatus,
  AgentStatusSchema,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { NodeBroadcast } from "../../nodes/node_broadcast.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Program } from "../../storage/database/release_schema.ts";
import { bounded } from "./bounded_status.ts";
import { ChangedParts } from "../../fleet/presence/changed_parts.ts";

/** What a part's agent reported last. */
export interface KnownAgent {
  readonly status: AgentStatus;
  readonly reportedAt: Date;
  /** False: its agent reports no status; this was derived from its requests. */
  readonly isReport: boolean;
}

/** What an agent reports of itself when it requests its configuration. */
export interface ToldVersionInfo {
  readonly platform: string;
  readonly agent: { readonly installed: string; readonly running: string };
  readonly server: { readonly installed: string; readonly running: string };
}

/** What a node says of an agent to the others: its row. */
interface ToldAgent {
  readonly id: string;
  /** JSON of an `AgentStatus`. */
  readonly status: JsonValue;
  readonly reportedAgoMs: number;
  readonly isReport: boolean;
}

const TELL_MS = 250;
/** When the other nodes know that an agent reported the same again. */
const TELL_SAME_MS = 15_000;
/** A report says more than a question, and counts before it for this time. */
const REPORT_COUNTS_MS = 5 * 60_000;

/**
 * What agents reported: versions, updates, the state of the host. Whether a part is online, and by
 * its server, is `Presence` of `cloud/fleet`. Nodes that serve together notify each other of what
 * changes.
 */
export class AgentStatuses {
  readonly #known = new Map<string, KnownAgent>();
  readonly #changed: ChangedParts;
  #shared: NodeBroadcast<ToldAgent> | undefined;

  constructor(
    private readonly queries: Queries,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    this.#changed = new ChangedParts({
      ...{ queries, clock, log },
      failure: "cannot store the reports of agents; retrying",
      save: (partIds) => this.#save(partIds),
      forget: (partId) => this.#known.delete(partId),
    });
  }

  /** Reads what was known when the last run ended. */
  async load(): Promise<void> {
    const rows = await this.queries.selectFrom("part_agents").selectAll().execute();
    for (const row of rows) {
      this.#known.set(row.part_id, {
        status: fromJson(AgentStatusSchema, JSON.parse(row.status) as JsonValue, {
          ignoreUnknownFields: true,
        }),
        reportedAt: new Date(row.reported_at),
        isReport: row.is_report === 1,
      });
    }
  }

  /**
   * Shares it with the other nodes, until the result is disposed of.
   *
   * @param elsewhere called with each part whose agent reported to another node
   */
  share(nodes: Nodes, elsewhere: (partId: string) => void): AsyncDisposable {
    this.#shared = new NodeBroadcast({
      topic: "agents",
      // The rest is in the database.
      all: () => this.#changed.ids().flatMap((id) => this.#told(id) ?? []),
      heard: (agents) => {
        for (const agent of agents) {
          this.#heard(agent);
          elsewhere(agent.id);
        }
      },
      gone: () => undefined, // what was reported last still holds
      ...{ nodes, clock: this.clock, log: this.log },
    });
    return this.#shared;
  }

  /** Undefined when it never reported anything. */
  of(partId: string): KnownAgent | undefined {
    return this.#known.get(partId);
  }

  partIds(): Iterable<string> {
    return this.#known.keys();
  }

  /** Version that the part would start now; empty when unknown. */
  installed(partId: string, program: Program): string {
    const status = this.#known.get(partId)?.status;
    const told = program === "machine-agent" ? status?.agent : status?.server;
    return told?.installed ?? "";
  }

  /** The agent reports its status. @returns it as it is kept. */
  report(partId: string, status: AgentStatus): AgentStatus {
    const kept = bounded(status);
    this.#keep(partId, { status: kept, reportedAt: this.clock.now(), isReport: true });
    return kept;
  }

  /**
   * The agent reports what runs whenever it requests something.
   *
   * @returns what is made of it; undefined: the agent reports, which says more.
   */
  learned(partId: string, told: ToldVersionInfo): AgentStatus | undefined {
    const before = this.#known.get(partId);
    const now = this.clock.now();
    const isFresh = before !== undefined &&
      now.getTime() - before.reportedAt.getTime() < REPORT_COUNTS_MS;
    if (before?.isReport && isFresh) return undefined;
    const { platform, agent, server } = told;
    const status = bounded(create(AgentStatusSchema, { platform, agent, server }));
    this.#keep(partId, { status, reportedAt: now, isReport: false });
    return status;
  }

  /** Writes to the database now and then until the signal aborts, and once more then. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#changed.run(signal);
  }

  /** Writes what changed since the last time. */
  async write(): Promise<void> {
    await this.#changed.write();
  }

  async #save(partIds: readonly string[]): Promise<void> {
    const values = partIds.flatMap((id) => {
      const known = this.#known.get(id);
      return known === undefined ? [] : [{
        part_id: id,
        status: JSON.stringify(toJson(AgentStatusSchema, known.status)),
        reported_at: known.reportedAt.getTime(),
        is_report: known.isReport ? 1 : 0,
      }];
    });
    if (values.length === 0) return;
    await this.queries.insertInto("part_agents").values(values)
      .onConflict((conflict) =>
        conflict.column("part_id").doUpdateSet((eb) => ({
          status: eb.ref("excluded.status"),
          reported_at: eb.ref("excluded.reported_at"),
          is_report: eb.ref("excluded.is_report"),
        }))
      ).execute();
  }

  #keep(partId: string, known: KnownAgent): void {
    const before = this.#known.get(partId);
    this.#known.set(partId, known);
    this.#changed.add(partId);
    const isSame = before?.isReport === known.isReport &&
      equals(AgentStatusSchema, before.status, known.status);
    this.#shared?.send(partId, () => this.#told(partId), isSame ? TELL_SAME_MS : TELL_MS);
  }

  #told(id: string): ToldAgent | undefined {
    const known = this.#known.get(id);
    if (!known) return undefined;
    const { status, reportedAt, isReport } = known;
    const reportedAgoMs = this.clock.now().getTime() - reportedAt.getTime();
    return { id, status: toJson(AgentStatusSchema, status), reportedAgoMs, isReport };
  }

  #heard({ id, status, reportedAgoMs, isReport }: ToldAgent): void {
    const reportedAt = new Date(this.clock.now().getTime() - reportedAgoMs);
    const before = this.#known.get(id);
    if (before && before.reportedAt > reportedAt) return;
    this.#known.set(id, {
      status: fromJson(AgentStatusSchema, status, { ignoreUnknownFields: true }),
      reportedAt,
      isReport,
    });
    // The other node writes it.
    this.#changed.delete(id);
  }
}
