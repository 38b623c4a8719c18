/** Why the agent exits: it was stopped, or its link leads to another version now. */
export type AgentEnd = "stop" | "update";
