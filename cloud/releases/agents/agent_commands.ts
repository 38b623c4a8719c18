import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import {
  type ProgramCommand,
  ProgramCommand_Action,
  ProgramCommandSchema,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type {
  AgentAction,
  AgentCommandsTable,
  Program,
} from "../../storage/database/release_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What an operator wants of the agent of a part. */
export interface NewAgentCommand {
  readonly program: Program;
  readonly action: AgentAction;
  /** For `forget bad`; empty: all of them. */
  readonly version: string;
  readonly validForMs: number;
}

const MOST_WAITING = 20;
const LONGEST_VERSION = 200;

const ACTIONS: Readonly<Record<AgentAction, ProgramCommand_Action>> = {
  "force": ProgramCommand_Action.FORCE,
  "forget bad": ProgramCommand_Action.FORGET_BAD,
  "restart": ProgramCommand_Action.RESTART,
};

/**
 * What operators want of agents, kept until an agent reports that it is done or their deadline is exceeded: a
 * machine that comes back after a week must not be forced to something that was wanted then.
 */
export class AgentCommands {
  constructor(
    private readonly queries: Queries,
    private readonly clock: Clock,
    private readonly random: Random,
  ) {}

  async add(
    part: PartRow,
    wanted: NewAgentCommand,
    actor: Actor,
  ): Promise<{ command: ProgramCommand; expiresAtMs: number }> {
    if (wanted.version.length > LONGEST_VERSION) {
      throw new ConnectError("version: it is no version", Code.InvalidArgument);
    }
    const now = this.clock.now().getTime();
    const row: Selectable<AgentCommandsTable> = {
      id: this.random.uuid(),
      part_id: part.id,
      program: wanted.program,
      action: wanted.action,
      version: wanted.action === "forget bad" ? wanted.version : "",
      created_at: now,
      expires_at: now + wanted.validForMs,
      created_by_type: actor.type,
      created_by: actor.id,
    };
    await this.queries.transaction().execute(async (transaction) => {
      await transaction.deleteFrom("agent_commands").where("expires_at", "<=", now).execute();
      const waiting = await transaction.selectFrom("agent_commands").select("id")
        .where("part_id", "=", part.id).execute();
      if (waiting.length >= MOST_WAITING) {
        throw refusal(
          "COMMANDS_WAIT",
          { most: MOST_WAITING },
          `${MOST_WAITING} commands wait for this machine already; wait until it has taken them`,
          Code.ResourceExhausted,
        );
      }
      await transaction.insertInto("agent_commands").values(row).execute();
    });
    return { command: toCommand(row), expiresAtMs: row.expires_at };
  }

  /** What waits for a part, oldest first. Those that are finished are forgotten. */
  async waiting(partId: string, finished: readonly string[]): Promise<ProgramCommand[]> {
    const now = this.clock.now().getTime();
    if (finished.length > 0) {
      await this.queries.deleteFrom("agent_commands")
        .where("part_id", "=", partId).where("id", "in", finished.slice(0, MOST_WAITING))
        .execute();
    }
    const rows = await this.queries.selectFrom("agent_commands").selectAll()
      .where("part_id", "=", partId).where("expires_at", ">", now)
      .orderBy("created_at").orderBy("id").execute();
    return rows.map(toCommand);
  }
}

function toCommand(
  { id, program, action, version }: Selectable<AgentCommandsTable>,
): ProgramCommand {
  return create(ProgramCommandSchema, { id, program, action: ACTIONS[action], version });
}
