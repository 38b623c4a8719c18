import { machine as words } from "../../texts/machine.ts";
import { control } from "../../texts/control.ts";
import { settings } from "../../texts/settings.ts";
import type { MachineTab } from "./tab.ts";

/** The tabs, in their order. */
export const TABS: readonly MachineTab[] = [
  { name: "", title: words.overview, load: () => import("./overview/Overview.svelte") },
  { name: "configure", title: words.configure, load: () => import("./configure/Configure.svelte") },
  { name: "control", title: control.title, load: () => import("./control/Control.svelte") },
  { name: "logs", title: words.logs, load: () => import("./logs/Logs.svelte") },
  { name: "health", title: words.health, load: () => import("./health/Health.svelte") },
  { name: "settings", title: settings.title, load: () => import("./settings/Settings.svelte") },
];
