// deno run -A tools/bundle/main.ts PROGRAM…   bundles for this machine into .tools/bundle/
import manifest from "../../deno.json" with { type: "json" };
import { programByName, ROOT } from "../programs.ts";
import { gitIn, readStamp } from "./build_stamp.ts";
import { bundleForHost } from "./bundle.ts";

const stamp = await readStamp(gitIn(ROOT), manifest.version);
for (const name of Deno.args) await bundleForHost(programByName(name), ROOT, stamp);
