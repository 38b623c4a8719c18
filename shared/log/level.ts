import { type Level, LEVELS } from "./logger.ts";

/** 0 for debug … 3 for error. */
export function severity(level: Level): number {
  return LEVELS.indexOf(level);
}

/** Reads a level as users write it ("Debug", "WARN", "warning"); undefined when it is none. */
export function parseLevel(text: string): Level | undefined {
  const name = text.trim().toLowerCase();
  if (name === "warning") return "warn";
  return LEVELS.find((level) => level === name);
}
