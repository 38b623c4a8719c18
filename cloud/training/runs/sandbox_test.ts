import assert from "node:assert/strict";
import { walledSandbox } from "./sandbox.ts";

Deno.test("the cloud's folder is hidden in what is shown of a Python that it lies in", () => {
  const python = { program: "/opt/python/bin/python3", prefixes: ["/opt/python", "/usr"] };
  const dataDir = "/opt/python/cloud";
  const own = { root: "/r", temporary: "/t", shared: "/s" };
  const { args } = walledSandbox({ dataDir, python }).wrap(
    { program: "true", args: [] },
    { cwd: "/w", readable: ["/data"], writable: ["/w"], fileBytes: 512, own },
  );
  const shown = ["base", "/opt/python", "/opt/python"];
  const places = [...shown, "hide", dataDir, dataDir, "own", "/t", "/tmp"];
  const at = args.indexOf("base");
  assert.deepEqual(args.slice(at, at + places.length), places);
});
