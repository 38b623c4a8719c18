/** The rover of docs/services.md, with the navigation service there. */
import { join } from "node:path";
import { eventually, READY_LINE, type Rig } from "../e2e/rig.ts";

const DOCUMENT = new URL("../../docs/services.md", import.meta.url);

/** Starts a server with it, and lets everybody in. Resolves when it can drive. */
export async function startNavigation(rig: Rig) {
  const text = await Deno.readTextFile(DOCUMENT);
  const example = (heading: string) =>
    JSON.parse(new RegExp(`## ${heading}[^]*?\`\`\`json\n([^\`]*)\`\`\``).exec(text)?.[1] ?? "");
  const rover = example("Motion") as { services: unknown[] };
  const file = join(rig.dir, "navigation.json");
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      ...rover,
      services: [...rover.services, example("Navigation")],
      network: { bind_address: `127.0.0.1:${rig.serverPort}` },
    }),
  );
  const server = rig.spawn("machine-server", ["-config", file]);
  await server.waitForLine(READY_LINE, 120_000);
  await eventually("the rover knows where it is", async () => {
    const method = "viam.service.navigation.v1.NavigationService/GetPosition";
    const response = await fetch(`http://127.0.0.1:${rig.serverPort}/${method}`, {
      signal: AbortSignal.timeout(60_000),
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "navigation" }),
    });
    await response.body?.cancel();
    return response.ok;
  });
  return server;
}
