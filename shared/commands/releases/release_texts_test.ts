import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { ReleaseSchema } from "../../gen/machine/cloud/v1/releases_pb.ts";
import { releaseTable } from "./release_texts.ts";

Deno.test("releaseTable() shows the first line of notes that is no heading", () => {
  const release = (notes: string) =>
    create(ReleaseSchema, { binary: "machine-agent", version: "1.0.0", notes });
  const shown = (notes: string) =>
    releaseTable([release(notes)], "machine").trim().split("\n").at(-1)!;
  assert.match(shown("### Added\n\n- Faster cameras.\n- More.\n"), / Faster cameras\.$/);
  assert.match(shown("Faster cameras\n"), / Faster cameras$/);
  assert.match(shown(""), /-$/);
});
