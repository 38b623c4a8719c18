import assert from "node:assert/strict";
import type { Flag } from "../../shared/base/flags/flags.ts";
import { agentFlags, statusFlags } from "./options.ts";

const text = await Deno.readTextFile(new URL("../../docs/machine-agent.md", import.meta.url));

Deno.test("docs/machine-agent.md names every option with its variable, and no other", () => {
  const rows = text.split("\n").filter((line) => /^\| `-/.test(line)).map((line) => {
    const [names = "", env = ""] = line.split("|").slice(1).map((cell) => cell.trim());
    return `${/--([a-z-]+)/.exec(names)?.[1]} ${env.replaceAll("`", "")}`.trim();
  });
  const flags = Object.entries<Flag>(agentFlags("linux").flags).filter(([, flag]) => !flag.hidden);
  const wanted = flags.map(([name, { env }]) => `${name} ${env ?? ""}`.trim());
  assert.deepEqual(rows.toSorted(), [...wanted, "help"].toSorted());
});

Deno.test("docs/machine-agent.md names every option of status", () => {
  for (const name of Object.keys(statusFlags("linux").flags)) assert(text.includes(`--${name}`));
});
