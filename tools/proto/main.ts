// deno run -A tools/proto/main.ts [--check]
// Generates shared/gen from proto/; with --check only says whether it is fresh.
import process from "node:process";
import { toError } from "../../shared/base/errors/to_error.ts";
import { ROOT } from "../programs.ts";
import { generate, GENERATED, staleFiles } from "./generate.ts";

try {
  if (!Deno.args.includes("--check")) {
    await generate(ROOT, ROOT);
  } else {
    const stale = await staleFiles(ROOT);
    if (stale.length > 0) {
      throw new Error(
        `${GENERATED} is not what proto/ gives. Run make proto and commit.\n  ${
          stale.join("\n  ")
        }`,
      );
    }
  }
} catch (error) {
  process.stderr.write(`make proto: ${toError(error).message}\n`);
  process.exitCode = 1;
}
