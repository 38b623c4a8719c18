import type { Program } from "../../storage/database/release_schema.ts";

/** What a program's file is called. */
export function programFile(program: Program, platform: string): string {
  return platform.startsWith("windows/") ? `${program}.exe` : program;
}

/** Where the file of a release is downloaded, by everybody. */
export function releaseUrl(
  publicUrl: string,
  program: Program,
  { version, platform }: { readonly version: string; readonly platform: string },
): string {
  const file = programFile(program, platform);
  return `${publicUrl}/releases/${program}/${encodeURIComponent(version)}/${platform}/${file}`;
}
