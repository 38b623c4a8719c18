import type { ResourceName } from "../../../../shared/gen/viam/common/v1/common_pb.ts";
import type { Card } from "./card.svelte.ts";

type Load = () => Promise<{ readonly default: Card }>;

const readings: Load = () => import("./cards/Readings.svelte");

/** The cards of the APIs that have one, in the order in which they are shown. */
const CARDS: readonly (readonly [api: string, load: Load])[] = [
  ["rdk:component:base", () => import("./cards/Base.svelte")],
  ["rdk:component:camera", () => import("./cards/Camera.svelte")],
  ["rdk:service:vision", () => import("./cards/Vision.svelte")],
  ["rdk:component:arm", () => import("./cards/Arm.svelte")],
  ["rdk:component:gripper", () => import("./cards/Gripper.svelte")],
  ["rdk:component:gantry", () => import("./cards/Gantry.svelte")],
  ["rdk:component:motor", () => import("./cards/Motor.svelte")],
  ["rdk:component:servo", () => import("./cards/Servo.svelte")],
  ["rdk:component:switch", () => import("./cards/Switch.svelte")],
  ["rdk:component:button", () => import("./cards/Button.svelte")],
  ["rdk:component:board", () => import("./cards/Board.svelte")],
  ["rdk:component:encoder", () => import("./cards/Encoder.svelte")],
  ["rdk:component:sensor", readings],
  ["rdk:component:movement_sensor", readings],
  ["rdk:component:power_sensor", readings],
  ["rdk:component:generic", () => import("./cards/Command.svelte")],
  ["rdk:service:generic", () => import("./cards/Command.svelte")],
];
const BY_API = new Map(CARDS);
const RANK = new Map(CARDS.map(([api], at) => [api, at]));

/** `rdk:component:motor`. */
export function apiOf({ namespace, type, subtype }: ResourceName): string {
  return `${namespace}:${type}:${subtype}`;
}

/** The card of a resource; undefined where only the form of its methods is there. */
export function cardOf(name: ResourceName): Load | undefined {
  return BY_API.get(apiOf(name));
}

/** Those that fit a search, what moves first, then by name. */
export function shownResources(all: readonly ResourceName[], search: string): ResourceName[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (name: ResourceName): boolean => {
    const text = `${name.name} ${apiOf(name)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const rank = (name: ResourceName): number => RANK.get(apiOf(name)) ?? RANK.size;
  return all.filter(fits).sort((a, b) =>
    rank(a) - rank(b) || apiOf(a).localeCompare(apiOf(b)) || a.name.localeCompare(b.name)
  );
}
