/** Why the agent ended: it was told to, or its link leads to another version now. */
export type AgentEnd = "told" | "update";
