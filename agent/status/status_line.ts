import type { AgentFacts } from "./report.ts";

/** One line for whoever asks the service manager. */
export function statusLine(facts: AgentFacts): string {
  const { server, server_process, cloud, waiting_for } = facts;
  const version = server.running || server.installed;
  return [
    `machine-server${version === "" ? "" : ` ${version}`} is ${server_process.state}`,
    ...(cloud.is_connected ? [] : ["the cloud is not reached"]),
    ...(waiting_for === "" ? [] : [waiting_for]),
  ].join("; ");
}
