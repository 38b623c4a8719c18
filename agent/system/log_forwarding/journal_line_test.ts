import assert from "node:assert/strict";
import { isOwn, parseJournalLine, toJournalEntry } from "./journal_line.ts";

const CURSOR = "s=9317;i=73;b=e624;m=132304c00;t=660e763eaf651;x=492f";

function line(fields: Record<string, unknown>) {
  const found = parseJournalLine(JSON.stringify({
    __CURSOR: CURSOR,
    __REALTIME_TIMESTAMP: "1795396790318673",
    __MONOTONIC_TIMESTAMP: "5136993280",
    _BOOT_ID: "e624",
    ...fields,
  }));
  assert(found);
  return found;
}

Deno.test("parseJournalLine() reads what journalctl writes", () => {
  assert.deepEqual(
    line({
      MESSAGE: "bbb",
      PRIORITY: "5",
      SYSLOG_IDENTIFIER: "one",
      _COMM: "logger",
      _SYSTEMD_UNIT: "a.service",
      _TRANSPORT: "syslog",
    }),
    {
      cursor: CURSOR,
      boot: "e624",
      monotonicUs: 5136993280,
      realtimeUs: 1795396790318673,
      identifier: "one",
      level: "info",
      message: "bbb",
      unit: "a.service",
      transport: "syslog",
    },
  );
});

Deno.test("parseJournalLine() takes bytes, lists, nothing and too much", () => {
  assert.equal(line({ MESSAGE: [0x61, 0xff, 0x1b, 0x5b] }).message, "a\ufffd\x1b[");
  assert.equal(line({ MESSAGE: ["a", [0x62]] }).message, "a\nb");
  assert.equal(line({ MESSAGE: null }).message, "");
  assert.equal(line({ _COMM: "x" }).identifier, "x");
  for (const text of ["", "{", '{"a":1}', "[]", 'xx"MESSAGE":"a"}', "-- No entries --"]) {
    assert.equal(parseJournalLine(text), undefined, text);
  }
});

Deno.test("a priority becomes a level", () => {
  const levels = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "x", null]
    .map((PRIORITY) => line({ PRIORITY }).level);
  assert.deepEqual(levels.slice(0, 4), ["error", "error", "error", "error"]);
  assert.deepEqual(levels.slice(4), ["warn", "info", "info", "debug", "info", "info", "info"]);
});

Deno.test("isOwn() finds our lines, and not what others or systemd say", () => {
  const unit = "machine-agent.service";
  const table: readonly [Record<string, string>, boolean][] = [
    [{ SYSLOG_IDENTIFIER: "machine-agent", _TRANSPORT: "stdout" }, true],
    [{ SYSLOG_IDENTIFIER: "machine-server", _TRANSPORT: "syslog" }, true],
    [{ SYSLOG_IDENTIFIER: "module", _SYSTEMD_UNIT: unit, _TRANSPORT: "stdout" }, true],
    [{ SYSLOG_IDENTIFIER: "module", _SYSTEMD_UNIT: unit, _TRANSPORT: "syslog" }, false],
    [{ SYSLOG_IDENTIFIER: "systemd", UNIT: unit, _TRANSPORT: "journal" }, false],
    [{ SYSLOG_IDENTIFIER: "sshd", _SYSTEMD_UNIT: "ssh.service", _TRANSPORT: "stdout" }, false],
  ];
  for (const [fields, expected] of table) {
    assert.equal(isOwn(line(fields), unit), expected, JSON.stringify(fields));
  }
  assert.equal(isOwn(line({ _SYSTEMD_UNIT: unit, _TRANSPORT: "stdout" }), undefined), false);
});

Deno.test("toJournalEntry() keeps the journal's microseconds, hides secrets and cuts", () => {
  const options = { host: "box", hide: (text: string) => text.replaceAll("hush", "******") };
  const entry = toJournalEntry(
    line({
      MESSAGE: `hush${"x".repeat(20_000)}`,
      SYSLOG_IDENTIFIER: "a",
      _PID: "7",
      _SYSTEMD_UNIT: "u.service",
    }),
    options,
  );
  assert.deepEqual([entry.time?.seconds, entry.time?.nanos], [1795396790n, 318673000]);
  assert.equal(entry.loggerName, "journald.a");
  assert.match(entry.message, /^\*{6}x+… \(\d+ more characters\)$/);
  assert.ok(entry.message.length < 17_000);
  assert.equal(toJournalEntry(line({}), options).loggerName, "journald.unknown");
});
