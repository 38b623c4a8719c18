import { join } from "node:path";
import { start } from "../../micro/core/main.ts";
import { denoHost, type DenoHostOptions } from "../../micro/hosts/deno/deno_host.ts";
import { eventually, type Rig } from "./rig.ts";

/** The core of machine-micro-server on Deno's sockets and files, with a rig's credentials. */
export async function startMicro(
  rig: Pick<Rig, "dir" | "credentialsFile">,
  parts: DenoHostOptions["parts"] = {},
) {
  const dir = join(rig.dir, "flash");
  await Deno.mkdir(dir, { recursive: true });
  const lines: string[] = [];
  let restarts = 0;
  const host = denoHost({
    dir,
    log: (line) => void lines.push(line),
    restart: () => void restarts++,
    parts,
  });
  const credentials = await Deno.readTextFile(rig.credentialsFile);
  const running = start(host, { credentials, port: 0, version: "0.1.0" });
  return {
    lines,
    port: running.port,
    restarts: () => restarts,
    waitForLine: (text: string) =>
      eventually(
        `a line with ${text}`,
        () => Promise.resolve(lines.find((line) => line.includes(text))),
      ),
    [Symbol.dispose]: () => running.stop(),
  };
}
