import assert from "node:assert/strict";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { compiledQuery } from "./compiled.ts";

Deno.test("a compiled query is built once, and asks for another row and in a transaction", async () => {
  await using cloud = await TestCloud.open();
  const { org_id: orgId } = await cloud.bootstrap();
  const { queries } = cloud.folder.database;
  let built = 0;
  const named = compiledQuery((queries, name) => {
    built++;
    return queries.selectFrom("organizations").select("name").where((eb) =>
      eb.or([eb("name", "=", name), eb("id", "=", name)])
    );
  });
  const before = (await named(queries, orgId)).map(({ name }) => name);

  await queries.transaction().execute(async (transaction) => {
    await transaction.updateTable("organizations").set({ name: "Other" }).execute();
    assert.deepEqual(await named(transaction, orgId), [{ name: "Other" }]);
  });

  assert.equal(before.length, 1);
  assert.deepEqual(await named(queries, before[0] ?? ""), []);
  assert.deepEqual(await named(queries, "Other"), [{ name: "Other" }]);
  assert.equal(built, 1);
});
