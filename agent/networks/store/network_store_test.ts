import assert from "node:assert/strict";
import { join } from "node:path";
import { AgentState } from "../../state/agent_state.ts";
import { NetworkStore, NOTHING_LEARNED } from "./network_store.ts";

async function withMemory(run: (open: (boot: string, uptimeMs: number) => NetworkStore) => void) {
  const dir = await Deno.makeTempDir();
  const state = AgentState.open(join(dir, "agent.db"));
  try {
    run((boot, uptimeMs) => new NetworkStore(state.database, { boot, uptimeMs: () => uptimeMs }));
  } finally {
    state.close();
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("the time offline goes on over a restart of the agent, not of the host", () =>
  withMemory((open) => {
    assert.deepEqual(open("b1", 5).record(), {
      offlineForMs: undefined,
      reboots: 0,
      attempt: undefined,
    });
    open("b1", 100_000).saveRecord({ offlineForMs: 30_000, reboots: 2, attempt: undefined });
    assert.equal(open("b1", 160_000).record().offlineForMs, 90_000);
    const after = open("b2", 1_000).record();
    assert.deepEqual([after.offlineForMs, after.reboots], [undefined, 2]);
  }));

Deno.test("the last attempt of a person and what is known of profiles are kept", () =>
  withMemory((open) => {
    const attempt = {
      ssid: "Café",
      security: "wpa2",
      signal: 40,
      result: "failed",
      error: "The password is wrong.",
    } as const;
    open("b", 1).saveRecord({ offlineForMs: undefined, reboots: 0, attempt });
    assert.deepEqual(open("b", 2).record().attempt, attempt);
    const profile = {
      label: "office",
      wanted: "w",
      kept: "k",
      attempts: 1,
      failure: "",
      learned: { ...NOTHING_LEARNED, isHidden: true },
    };
    open("b", 1).saveProfile(profile);
    assert.deepEqual(open("b", 1).profiles().get("office"), profile);
    open("b", 1).forgetProfile("office");
    assert.equal(open("b", 1).profiles().size, 0);
  }));
