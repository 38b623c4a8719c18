import { machine as words } from "../../texts/machine.ts";
import type { MachineTab } from "./tab.ts";

/** The tabs, in their order. */
export const TABS: readonly MachineTab[] = [
  { name: "", title: words.overview, load: () => import("./overview/Overview.svelte") },
  { name: "logs", title: words.logs, load: () => import("./logs/Logs.svelte") },
];
