/** Starts a process of the server that runs from its sources, where `main.ts` loads all that it has. */
import { SUBPROCESSES } from "./subprocesses.ts";

await SUBPROCESSES.get(Deno.args[0] ?? "")?.();
Deno.exit(0);
