// deno run -A tools/test/packages.ts
// Prints Debian's packages that bring what tests need and is not here, in one line; nothing when all
// is here.
import process from "node:process";
import { isThere, TOOLS } from "../../shared/test_tools/tools.ts";

const missing = Object.values(TOOLS).filter((tool) => !isThere(tool));
const packages = new Set(missing.flatMap((tool) => tool.packages));
if (packages.size > 0) process.stdout.write(`${[...packages].join(" ")}\n`);
