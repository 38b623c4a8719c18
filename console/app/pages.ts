import BellRing from "@lucide/svelte/icons/bell-ring";
import Building from "@lucide/svelte/icons/building";
import Database from "@lucide/svelte/icons/database";
import Rocket from "@lucide/svelte/icons/rocket";
import Server from "@lucide/svelte/icons/server";
import { pages } from "../texts/pages.ts";
import type { Page } from "../navigation/page.ts";

/** Every page, in the order of the navigation. The first one whose path fits is shown. */
export const PAGES: readonly Page[] = [
  {
    path: "/",
    title: pages.fleet,
    icon: Server,
    load: () => import("../pages/fleet/Fleet.svelte"),
  },
  {
    path: "/new-machine",
    title: pages.newMachine,
    under: "/",
    load: () => import("../pages/new_machine/NewMachine.svelte"),
  },
  {
    path: "/machines/:machine/:tab?",
    title: pages.machine,
    under: "/",
    load: () => import("../pages/machine/Machine.svelte"),
  },
  {
    path: "/data",
    title: pages.data,
    icon: Database,
    load: () => import("../pages/data/Data.svelte"),
  },
  {
    path: "/triggers",
    title: pages.triggers,
    icon: BellRing,
    load: () => import("../pages/triggers/Triggers.svelte"),
  },
  {
    path: "/releases",
    title: pages.releases,
    icon: Rocket,
    load: () => import("../pages/releases/Releases.svelte"),
  },
  {
    path: "/organization",
    title: pages.organization,
    icon: Building,
    load: () => import("../pages/organization/Organization.svelte"),
  },
];
