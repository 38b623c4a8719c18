import { processState, type StatusFacts, waitingFor } from "../cloud/reporting/agent_status.ts";
import type { SystemReport } from "../system/outcomes/system_outcome.ts";
import { type AgentFacts, networksReport, programReport, timeOf } from "./report.ts";

/** What the status file says on top of what is reported to the cloud. */
export interface LocalFacts {
  readonly partId: string;
  readonly cloudAddress: string;
  readonly isConnected: boolean;
  /** When that became so; undefined when unknown. */
  readonly connectedSince: Date | undefined;
  readonly system: SystemReport;
}

/** The same that the cloud receives, in the form of the status file. */
export function agentFacts(
  facts: Omit<StatusFacts, "finishedCommands">,
  { partId, cloudAddress, isConnected, connectedSince, system }: LocalFacts,
): AgentFacts {
  const waiting = waitingFor(facts);
  const { process } = facts;
  return {
    part_id: partId,
    cloud: { address: cloudAddress, is_connected: isConnected, since: timeOf(connectedSince) },
    agent: programReport(facts.agent, facts.agentRunning),
    server: programReport(facts.server, facts.serverRunning),
    server_process: {
      state: processState(process),
      since: timeOf(process.since),
      failures: process.failures,
      last_exit: process.lastExit,
    },
    waiting_for: waiting.text,
    waiting_since: timeOf(waiting.since),
    settings_problems: facts.settingsProblems,
    system,
    networks: networksReport(facts.networks),
  };
}
