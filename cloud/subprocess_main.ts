/** Starts a process of the cloud that runs from its sources, where `main.ts` loads all that serves. */
import { SUBPROCESSES } from "./subprocesses.ts";

const [name = "", argument = ""] = Deno.args;
await SUBPROCESSES.get(name)?.(argument);
Deno.exit(0);
