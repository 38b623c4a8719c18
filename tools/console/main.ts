// deno run -A tools/console/main.ts           builds the console into .tools/console/
// deno run -A tools/console/main.ts --serve   serves it from its sources while you change them; what it
//                                             asks of the cloud goes to MACHINE_CLOUD_URL
import { join } from "node:path";
import { createServer } from "vite";
import { ROOT } from "../programs.ts";
import { buildConsole } from "./build.ts";
import { catalogue } from "./catalogue.ts";

if (Deno.args.includes("--serve")) {
  const server = await createServer({
    configFile: join(ROOT, "console", "vite.config.ts"),
    plugins: [catalogue()],
  });
  await server.listen();
  server.printUrls();
} else {
  await buildConsole(ROOT);
  // Vite's threads would keep the process.
  Deno.exit(0);
}
