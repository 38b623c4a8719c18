/** Programs for which a name means this host, as SDKs ask the host whose name they are given. */
import { join } from "node:path";
import { missingTools } from "../../shared/test_tools/skips.ts";
import { runToEnd } from "./run_to_end.ts";

/** Why no program can be given names here. */
export async function noNamesBecause(): Promise<string | undefined> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) return "only root on Linux can mount files";
  const missing = missingTools("unshare");
  if (missing !== undefined) return missing;
  const { success } = await runToEnd("unshare", { args: ["-m", "true"] });
  return success ? undefined : "no mount namespaces can be made here";
}

/** A command that runs another one for which `name` is 127.0.0.1. @param dir keeps its file of hosts */
export async function withName(dir: string, name: string, command: string, args: string[]) {
  const hosts = join(dir, "hosts");
  await Deno.writeTextFile(hosts, `127.0.0.1 localhost ${name}\n`);
  const named = `mount --bind "${hosts}" /etc/hosts && exec "$@"`;
  return { command: "unshare", args: ["-m", "sh", "-c", named, "sh", command, ...args] };
}
