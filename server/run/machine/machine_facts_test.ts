import assert from "node:assert/strict";
import { emptyMachineConfig } from "../../../shared/config/machine_config.ts";
import { machineFacts } from "./machine_facts.ts";

Deno.test("machineFacts() tells that calls are traced when the configuration or an option says so", () => {
  const tracing = (enabled: boolean | undefined, printsSpans: boolean) =>
    machineFacts(
      { ...emptyMachineConfig(), ...(enabled !== undefined && { tracing: { enabled } }) },
      { partId: undefined, printsSpans },
    ).tracing;
  assert.equal(tracing(undefined, false), false);
  assert.equal(tracing(true, false), true);
  assert.equal(tracing(false, true), true);
});

Deno.test("machineFacts() gives the first key in clear by its id, and the part of the credentials", () => {
  const config = {
    ...emptyMachineConfig(),
    cloud: { id: "own", machine_id: "m" },
    auth: { handlers: [{ type: "api-key", config: { b: "2", a: "1", keys: ["a", "b"] } }] },
  };
  const facts = machineFacts(config, { partId: "given", printsSpans: false });
  assert.deepEqual(
    [facts.apiKeyId, facts.apiKey, facts.machinePartId, facts.machineId],
    ["a", "1", "given", "m"],
  );
  assert.equal(
    machineFacts(config, { partId: undefined, printsSpans: false }).machinePartId,
    "own",
  );
});
