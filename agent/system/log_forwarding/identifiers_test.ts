import assert from "node:assert/strict";
import { identifiersText, parseIdentifiers, wants } from "./identifiers.ts";

const NAMES = ["sshd", "kernel", "cron"];

const TABLE: readonly [string, string[] | undefined][] = [
  ["", undefined],
  [" , ,", undefined],
  ["-", undefined],
  ["all", ["sshd", "kernel", "cron"]],
  ["sshd", ["sshd"]],
  [" sshd , kernel ", ["sshd", "kernel"]],
  ["all, -cron", ["sshd", "kernel"]],
  ["all,- cron", ["sshd", "kernel"]],
  ["-cron", ["sshd", "kernel"]],
  ["sshd,cron,-cron", ["sshd"]],
  ["SSHD", []],
];

for (const [text, expected] of TABLE) {
  Deno.test(`forward_system_logs ${JSON.stringify(text)} forwards ${expected ?? "nothing"}`, () => {
    const parsed = parseIdentifiers(text);
    assert.deepEqual(parsed && NAMES.filter((name) => wants(parsed, name)), expected);
  });
}

Deno.test("identifiersText() says who is forwarded and who is not", () => {
  const text = (list: string) => identifiersText(parseIdentifiers(list) ?? never());
  assert.equal(text("all,-a,-b"), "the journal's lines of everybody, but not of a, b");
  assert.equal(text("a,b"), "the journal's lines of a, b");
});

function never(): never {
  throw new Error("it names somebody");
}
