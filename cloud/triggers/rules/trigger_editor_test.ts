import assert from "node:assert/strict";
import type { ConfigDocument } from "../../fleet/configuration/config_document.ts";
import { RecentDocuments } from "../../fleet/configuration/recent_documents.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import { TriggerEditor } from "./trigger_editor.ts";

Deno.test("a trigger that is set is read once, for its check and for the machine", async () => {
  const documents = new RecentDocuments();
  let saved: ConfigDocument | undefined;
  const revisions = {
    current: () => Promise.resolve({ config: "{}" } as never),
    save: (_: string, edit: { config?: ConfigDocument | undefined }) => {
      saved = edit.config;
      return Promise.resolve({} as PartRow);
    },
  };
  const trigger = {
    name: "t",
    event: { type: "part_online" },
    notifications: [{ type: "email", value: "a@b.example" }],
  };
  const actor = { type: "user", id: "u" } as never;
  await new TriggerEditor(revisions, documents).set({ id: "p" } as PartRow, trigger, "", actor);
  assert.equal(documents.reading(saved!.text).json, saved!.value, "it was read again");
});
