import type { InstalledVersion } from "../../state/agent_state.ts";
import type { ProgramLink } from "./program_link.ts";
import { shaOfFile, versionOfFile } from "./target.ts";

/** The version that a link leads to, as far as the name of its file shows. */
export async function foundVersion(link: ProgramLink): Promise<InstalledVersion | undefined> {
  const path = await link.read();
  return path === undefined || !await isFile(path) ? undefined : versionOf(path);
}

export function versionOf(path: string): InstalledVersion {
  const sha256 = shaOfFile(path);
  const version = versionOfFile(path);
  return { version, url: "", path, ...(sha256 === undefined ? {} : { sha256 }) };
}

export async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}
