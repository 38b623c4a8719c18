import assert from "node:assert/strict";
import { type FirstInLine, nextTurn, type QueueLimits } from "./turns.ts";

/** Lets jobs run one after another, each to its end before the next, and gives their order. */
function order(jobs: readonly FirstInLine[], limits: QueueLimits): number[] {
  const lastTurns = new Map<string, number>();
  const left = [...jobs];
  const started: number[] = [];
  while (left.length > 0) {
    const heads = [...Map.groupBy(left, ({ orgId }) => orgId).values()]
      .flatMap(([first]) => first ? [first] : []);
    const next = nextTurn(heads, { orgIds: [], lastTurns }, limits);
    if (!next) break;
    started.push(next.seq);
    lastTurns.set(next.orgId, started.length);
    left.splice(left.indexOf(next), 1);
  }
  return started;
}

const jobs = (orgs: string): FirstInLine[] =>
  [...orgs].map((orgId, index) => ({ orgId, seq: index + 1 }));
const one: QueueLimits = { total: 1, perOrganization: 1 };

Deno.test("nextTurn() keeps the order of submission within an organisation", () => {
  assert.deepEqual(order(jobs("aaaa"), one), [1, 2, 3, 4]);
});

Deno.test("nextTurn() takes turns between organisations, whoever has more jobs", () => {
  assert.deepEqual(order(jobs("aaaaabbc"), one), [1, 6, 8, 2, 7, 3, 4, 5]);
});

Deno.test("nextTurn() prefers who has fewer running", () => {
  const running = { orgIds: ["a", "a", "b"], lastTurns: new Map([["b", 9]]) };
  const next = nextTurn(jobs("ab"), running, { total: 9, perOrganization: 9 });
  assert.equal(next?.orgId, "b");
});

Deno.test("nextTurn() starts nothing above either limit", () => {
  const running = { orgIds: ["a", "b"], lastTurns: new Map<string, number>() };
  assert.equal(nextTurn(jobs("c"), running, { total: 2, perOrganization: 2 }), undefined);
  assert.equal(nextTurn(jobs("ab"), running, { total: 3, perOrganization: 1 }), undefined);
  const next = nextTurn(jobs("abc"), running, { total: 3, perOrganization: 1 });
  assert.equal(next?.orgId, "c");
  assert.equal(
    nextTurn(jobs("a"), { orgIds: [], lastTurns: new Map() }, {
      total: 0,
      perOrganization: 1,
    }),
    undefined,
  );
});
