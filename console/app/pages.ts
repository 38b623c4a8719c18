import BellRing from "@lucide/svelte/icons/bell-ring";
import Building from "@lucide/svelte/icons/building";
import Brain from "@lucide/svelte/icons/brain";
import Database from "@lucide/svelte/icons/database";
import Package from "@lucide/svelte/icons/package";
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
    path: "/training",
    title: pages.training,
    icon: Brain,
    load: () => import("../pages/training/Training.svelte"),
  },
  {
    path: "/training/:job",
    title: pages.training,
    under: "/training",
    load: () => import("../pages/training/Training.svelte"),
  },
  {
    path: "/triggers",
    title: pages.triggers,
    icon: BellRing,
    load: () => import("../pages/triggers/Triggers.svelte"),
  },
  {
    path: "/registry",
    title: pages.registry,
    icon: Package,
    load: () => import("../pages/registry/Registry.svelte"),
  },
  {
    path: "/registry/:item",
    title: pages.registry,
    under: "/registry",
    load: () => import("../pages/registry/Registry.svelte"),
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
  {
    path: "/account",
    title: pages.account,
    load: () => import("../pages/account/Account.svelte"),
  },
];
