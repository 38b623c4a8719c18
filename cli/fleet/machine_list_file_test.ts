import assert from "node:assert/strict";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { parseMachineList } from "./machine_list_file.ts";

Deno.test("parseMachineList() reads what spreadsheets write", () => {
  const text = '\ufeffName,Tags,fragments\r\narm-1,"a,b",f1;f2@stable\r\n\r\n"arm-2",,\r\n';
  assert.deepEqual(parseMachineList(text, "m.csv"), [
    { name: "arm-1", template: { fragmentIds: ["f1", "f2@stable"], tags: ["a", "b"] } },
    { name: "arm-2", template: { fragmentIds: [], tags: [] } },
  ]);
});

Deno.test("parseMachineList() names what is wrong, and where", () => {
  for (
    const [text, message] of [
      ["", /no machine/],
      ["name\n", /no machine/],
      ["host,tags\na,b\n", /"host" is none of them/],
      ["tags\na\n", /must name columns: name/],
      ["name,tags\na,b,c\n", /m\.csv: .*line 2/],
      ['name\n"a\n', /m\.csv: .*Quote/],
    ] as const
  ) {
    assert.throws(() => parseMachineList(text, "m.csv"), (error: unknown) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, message);
      return true;
    });
  }
});
