// deno run -A tools/bundle/main.ts [--assets-last] PROGRAM…   bundles for this machine into
//                                   .tools/bundle/; --assets-last: assets when the input has ended
import manifest from "../../deno.json" with { type: "json" };
import { programByName, ROOT } from "../programs.ts";
import { gitIn, readStamp } from "./build_stamp.ts";
import { bundleForHost } from "./bundle.ts";

const stamp = await readStamp(gitIn(ROOT), manifest.version);
const [first] = Deno.args;
const assetsLast = first === "--assets-last";
const inputEnds = assetsLast ? Array.fromAsync(Deno.stdin.readable) : Promise.resolve();
for (const name of assetsLast ? Deno.args.slice(1) : Deno.args) {
  await bundleForHost(programByName(name), ROOT, stamp, { assetsThere: inputEnds });
}
