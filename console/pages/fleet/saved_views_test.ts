import assert from "node:assert/strict";
import { MOST_VIEWS, viewsIn, withView } from "./saved_views.ts";

Deno.test("viewsIn() reads what was kept, and takes anything else for none", () => {
  const views = [{ name: "Mine", query: "?q=a" }];
  assert.deepEqual(viewsIn(JSON.stringify(views)), views);
  for (const text of [null, "", "{", "7", '[null,{"name":1}]']) assert.deepEqual(viewsIn(text), []);
});

Deno.test("withView() replaces one of the same name, sorts, and keeps to the bound", () => {
  const kept = withView([{ name: "b", query: "1" }, { name: "a", query: "2" }], {
    ...{ name: "b", query: "3" },
  });
  assert.deepEqual(kept.map(({ name, query }) => name + query), ["a2", "b3"]);
  const many = Array.from({ length: MOST_VIEWS }, (_, at) => ({ name: `v${at}`, query: "" }));
  assert.equal(withView(many, { name: "new", query: "" }).length, MOST_VIEWS);
});
