import assert from "node:assert/strict";
import { plotsOf } from "./result_curves.ts";

const result = (rows: readonly object[]) => ({ rows: [...rows], columns: [] });

Deno.test("plotsOf() draws numbers along times, in their order, a line for each name", () => {
  const found = plotsOf(result([
    { at: "2026-01-02T00:00:02.5Z", who: "b", data: { readings: { kg: 3, on: true } } },
    { at: "2026-01-02 00:00:01", who: "a", data: { readings: { kg: 1, on: null } } },
    { at: new Date("2026-01-02T00:00:00Z"), who: "a", data: { readings: { kg: 2 } } },
  ]));
  assert.ok(found);
  assert.deepEqual(found.axes, ["at", "who", "data · readings · on"]);
  assert.equal(found.axis, "at");
  const start = Date.parse("2026-01-02T00:00:00Z") / 1000;
  assert.deepEqual(found.plots, [{
    title: "data · readings · kg",
    curves: {
      ...{ names: ["b", "a"], axis: "time" },
      columns: [[start, start + 1, start + 2.5], [null, null, 3], [2, 1, null]],
    },
  }]);
});

Deno.test("plotsOf() draws groups by their names, in the order of the rows", () => {
  const groups = [{ _id: "scale", n: 5, least: -1 }, { _id: "camera", n: 2, least: 0 }];
  const found = plotsOf(result(groups));
  assert.deepEqual(found?.axes, ["_id", "n", "least"]);
  assert.deepEqual(found?.plots.map(({ title }) => title), ["n", "least"]);
  assert.deepEqual(found?.plots[0]?.curves, {
    ...{ names: ["n"], axis: ["scale", "camera"], columns: [[0, 1], [5, 2]] },
  });
  const along = plotsOf(result(groups), "n");
  assert.deepEqual(along?.plots.map(({ title }) => title), ["least"]);
  assert.deepEqual(along?.plots[0]?.curves.columns, [[2, 5], [null, -1], [0, null]]);
});

Deno.test("plotsOf() has nothing to draw where a number or what it stands at is missing", () => {
  for (const rows of [[], [{ n: 3 }], [{ name: "a" }], [{ a: 1, b: "x" }, { a: "y", b: 2 }]]) {
    assert.equal(plotsOf(result(rows)), undefined, JSON.stringify(rows));
  }
  // A column that no name fits, however many, is no reason for lines of its own.
  const many = Array.from({ length: 50 }, (_, at) => ({ at, name: `n${at}`, y: at * 2 }));
  assert.deepEqual(plotsOf(result(many), "at")?.plots[0]?.curves.names, ["y"]);
});
