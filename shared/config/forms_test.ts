import { strictEqual } from "node:assert/strict";
import {
  byteLength,
  durationMs,
  isEmail,
  isHostName,
  isHostPort,
  isIpv4,
  isIpv4Cidr,
  isName,
  isVersionSetting,
  isWebOrigin,
  parseHttpUrl,
} from "./forms.ts";

const TABLE: [name: string, check: (text: string) => boolean, good: string[], bad: string[]][] = [
  ["isName", isName, ["a", "9x", "a-b_C"], [
    "",
    "-a",
    "_a",
    "a b",
    "a:b",
    "a+b",
    "ä",
    "a/b",
    "a\n",
  ]],
  ["isHostName", isHostName, ["robot", "robot.lan", "a-b.c_d.e.", "10.0.0.1"], [
    "",
    "robot:80",
    "*.lan",
    "http://robot",
    "a..b",
    ".lan",
    "a b",
    "a/",
  ]],
  ["isWebOrigin", isWebOrigin, ["https://panel.example", "http://a:81", "https://A.b:8443"], [
    "",
    "*",
    "null",
    "panel.example",
    "https://panel.example/",
    "https://panel.example:443",
    "http://a:80",
    "ftp://a",
    "https://a/b",
    "https://u@a",
  ]],
  ["isIpv4", isIpv4, ["1.2.3.4", "255.255.255.255", "0.0.0.0"], [
    "",
    "1.2.3",
    "1.2.3.4.",
    "1.2.3.4.5",
    "256.1.1.1",
    "01.1.1.1",
    "a.b.c.d",
    "1.2.3.4/8",
  ]],
  ["isIpv4Cidr", isIpv4Cidr, ["192.168.0.10/24", "10.0.0.1/0", "10.0.0.1/32"], [
    "192.168.0.10",
    "10.0.0.1/33",
    "10.0.0.1/",
    "10.0.0.1/8/8",
    "::1/64",
  ]],
  ["isHostPort", isHostPort, [":8080", "localhost:8080", "[::1]:80", "0.0.0.0:http", "a:0"], [
    "",
    "localhost",
    "::1:80",
    "a:65536",
    "a:b:1",
    "[::1]",
    "a:-1",
  ]],
  ["isVersionSetting", isVersionSetting, [
    "stable",
    "dev",
    "1.2.3",
    "v1.2.3",
    "1.2.3-rc.1+x",
    "http://a/b",
    "https://a/b",
    "file:///opt/x",
    "^1.2",
    "~1.2.3",
    "1.x",
    "1.2.x",
    ">=1.2 <2",
  ], [
    "",
    "Stable",
    "1.2",
    "1",
    "^",
    "^x",
    "1.x.2",
    ">=1 or <2",
    "*",
    "latest",
    "ftp://a/b",
    "file://",
    "http://",
    "../x",
  ]],
  ["isEmail", isEmail, ["a@b", "a.b+c@d.example"], ["", "a", "@b", "a@", "a@b@c", "a b@c"]],
];

for (const [name, check, good, bad] of TABLE) {
  Deno.test(`${name}() takes what is of the form and nothing else`, () => {
    for (const text of good) strictEqual(check(text), true, text);
    for (const text of bad) strictEqual(check(text), false, text);
  });
}

Deno.test("durationMs() answers undefined when the text is no duration", () => {
  strictEqual(durationMs("1h20m"), 4_800_000);
  for (const text of ["", "5", "5 m", "m"]) strictEqual(durationMs(text), undefined, text);
});

Deno.test("parseHttpUrl() takes http and https URLs with a host", () => {
  strictEqual(parseHttpUrl("https://hooks.example/a?b=c")?.hostname, "hooks.example");
  for (const text of ["", "x", "ftp://a/b", "http://", "http:///a", "//a/b", "http:a"]) {
    strictEqual(parseHttpUrl(text), undefined, text);
  }
});

Deno.test("byteLength() counts bytes, not letters", () => {
  strictEqual(byteLength("aä€"), 6);
});
