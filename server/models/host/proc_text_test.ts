import assert from "node:assert/strict";
import {
  parseLoadavg,
  parseMeminfo,
  parseNetDev,
  parseOsRelease,
  parseProcStat,
  parseUptime,
} from "./proc_text.ts";
import { countTasklist, parseNetstat } from "./windows_text.ts";

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 8282931   97406    0    0    0     0          0         0  8282931   97406    0    0    0     0       0          0
  eth0:309706601   14350    0    0    0     0          0         0   987289    9349    0    0    0     0       0          0
eth0:1: 10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0
`;

Deno.test("parseProcStat() counts waiting for disks as idle", () => {
  const text = "cpu  100 10 50 800 30 4 6 20 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n";
  assert.deepEqual(parseProcStat(text), { busy: 190, total: 1020 });
});

Deno.test("parseProcStat() copes when an old kernel gives four fields", () => {
  assert.deepEqual(parseProcStat("cpu 1 2 3 4\n"), { busy: 6, total: 10 });
});

Deno.test("parseProcStat() throws when the line is missing", () => {
  assert.throws(() => parseProcStat("cpus 1 2\n"), /no line that starts with "cpu "/);
});

Deno.test("parseMeminfo() takes what is not available as used", () => {
  const text = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    600 kB\n";
  assert.deepEqual(parseMeminfo(text), { totalBytes: 1_024_000, usedBytes: 409_600 });
});

Deno.test("parseMeminfo() estimates when the kernel has no MemAvailable", () => {
  const text = "MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 50 kB\nCached: 250 kB\n";
  assert.equal(parseMeminfo(text).usedBytes, 600 * 1024);
});

Deno.test("parseMeminfo() throws when there is no total", () => {
  assert.throws(() => parseMeminfo("MemFree: 1 kB\n"), /no MemTotal/);
});

Deno.test("parseLoadavg() and parseUptime() read the first numbers", () => {
  assert.deepEqual(parseLoadavg("0.43 0.47 12.24 2/93 15084\n"), [0.43, 0.47, 12.24]);
  assert.equal(parseUptime("1901.25 3600.00\n"), 1901.25);
});

Deno.test("parseNetDev() leaves loopback out unless it is asked for", () => {
  assert.deepEqual(parseNetDev(netDev, undefined), { rxBytes: 309706611, txBytes: 987309 });
  assert.deepEqual(parseNetDev(netDev, ["lo"]), { rxBytes: 8282931, txBytes: 8282931 });
  assert.deepEqual(parseNetDev(netDev, ["eth0:1"]), { rxBytes: 10, txBytes: 20 });
  assert.deepEqual(parseNetDev(netDev, ["wlan0"]), { rxBytes: 0, txBytes: 0 });
});

Deno.test("parseOsRelease() reads the pretty name with and without quotes", () => {
  assert.equal(
    parseOsRelease('NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12"\n'),
    "Debian GNU/Linux 12",
  );
  assert.equal(parseOsRelease("PRETTY_NAME=Alpine\n"), "Alpine");
  assert.equal(parseOsRelease("NAME=x\n"), undefined);
});

Deno.test("parseNetstat() takes the bytes row whatever the language", () => {
  const german =
    "Schnittstellenstatistik\r\n\r\n                      Empfangen    Gesendet\r\n\r\n" +
    "Bytes                     3862012      447562\r\nUnicastpakete    8000   4000\r\n";
  assert.deepEqual(parseNetstat(german), { rxBytes: 3862012, txBytes: 447562 });
  assert.throws(() => parseNetstat("nothing"), /no row/);
});

Deno.test("countTasklist() counts rows and not blank lines", () => {
  const text =
    '"System Idle Process","0","Services","0","8 K"\r\n"System","4","Services","0","1 K"\r\n\r\n';
  assert.equal(countTasklist(text), 2);
});
