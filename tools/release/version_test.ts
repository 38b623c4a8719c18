import assert from "node:assert/strict";
import { checkVersion, isStable, notesOf } from "./version.ts";

const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.0] - 2026-01-31

### Added

- Wheels.

## [1.1.0] - 2026-01-01

[1.1.0]: https://example.com
`;

Deno.test("notesOf() gives a version's section and its day", () => {
  const { date, notes } = notesOf(CHANGELOG, "1.2.0");
  assert.equal(date, "2026-01-31");
  assert.equal(notes, "### Added\n\n- Wheels.");
});

Deno.test("notesOf() says what the changelog lacks", () => {
  assert.throws(() => notesOf(CHANGELOG, "1.3.0"), /no section 1\.3\.0.*\[Unreleased\]/);
  assert.throws(() => notesOf(CHANGELOG, "1.1.0"), /says nothing about 1\.1\.0/);
  const undated = CHANGELOG.replace(" - 2026-01-31", "");
  assert.throws(() => notesOf(undated, "1.2.0"), /line 5: write "## \[1\.2\.0\] - YYYY-MM-DD"/);
});

Deno.test("checkVersion() takes a version only as it is compared", () => {
  for (const fine of ["0.2.0", "1.2.3-rc.1"]) checkVersion(fine);
  for (const wrong of ["v1.2.3", "1.2", "1.2.3 ", "01.2.3", "latest", "1.2.3+build"]) {
    assert.throws(() => checkVersion(wrong), /is no version/, wrong);
  }
});

Deno.test("isStable() is false for a version with a suffix", () => {
  assert.equal(isStable("1.2.3"), true);
  assert.equal(isStable("1.2.3-rc.1"), false);
});
