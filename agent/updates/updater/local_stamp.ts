import { fileURLToPath } from "node:url";
import type { Target } from "./target.ts";

/**
 * A target on this host with a stamp that changes when the file does, so that a program that
 * is rebuilt is an update. Others come back as they are.
 */
export async function withStamp(target: Target): Promise<Target> {
  if (!target.url.startsWith("file:") || target.sha256 !== "") return target;
  try {
    const { size, mtime } = await Deno.stat(fileURLToPath(target.url));
    return { ...target, stamp: `${size}:${mtime?.getTime() ?? 0}` };
  } catch {
    return target; // The download says what is wrong with it.
  }
}
