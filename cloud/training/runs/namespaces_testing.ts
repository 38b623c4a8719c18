/** For tests: whether this host has what walls are made of, found out without the walls. */
import { missingTools } from "../../../shared/test_tools/skips.ts";

/** Every kind that a run gets, written out: what the runner starts may not decide what is tested. */
const UNSHARE = "--user --map-root-user --mount --pid --net --ipc --uts --mount-proc --fork";
/** What is done within them: a root of its own that is read-only. */
const MOUNTS = `set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/usr" "$1/old"
mount --rbind /usr "$1/usr"
mount -o remount,bind,ro "$1/usr"
cd "$1"
pivot_root . old
`;

/** Why this host and user can have no namespaces with mounts of their own; undefined: they can. */
export function noNamespacesBecause(): string | undefined {
  if (Deno.build.os !== "linux") return "only Linux has namespaces";
  const missing = missingTools("unshare", "mount", "python");
  if (missing !== undefined) return missing;
  const folder = Deno.makeTempDirSync();
  try {
    const { success, stderr } = new Deno.Command("unshare", {
      args: [...UNSHARE.split(" "), "sh", "-c", MOUNTS, "sh", folder],
      stdout: "null",
    }).outputSync();
    if (success) return undefined;
    return `this host allows no namespaces: ${new TextDecoder().decode(stderr).trim()}`;
  } finally {
    Deno.removeSync(folder);
  }
}
