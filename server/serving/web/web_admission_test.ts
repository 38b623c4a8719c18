import assert from "node:assert/strict";
import { admissionRules } from "./machine_admission.ts";
import { hostRefusal, originRefusal } from "./web_admission.ts";

const rules = admissionRules(
  {
    cloud: { fqdn: "Main.lab.example.", local_fqdn: "main.lab.local" },
    network: {
      fqdn: "arm.factory",
      bind_address: "bound.lan:8080",
      allowed_hosts: ["Proxy.Lan"],
      allowed_origins: ["https://panel.example", "http://dev.example:5173"],
    },
  },
  8080,
  "raspi.home.arpa",
);

const reader = (headers: Record<string, string>) => (name: string) => headers[name] ?? null;

Deno.test("hostRefusal() takes names of the machine, loopback and addresses only", () => {
  const good = [
    "localhost",
    "localhost:8080",
    "LOCALHOST.:8080",
    "panel.localhost:1",
    "127.0.0.1:8080",
    "127.8.9.1",
    "[::1]:8080",
    "192.168.1.7:8080",
    "[fe80::1]",
    "main.lab.example",
    "main.lab.example:443",
    "main-lab-example.local:8080",
    "main.lab.example.local",
    "main.lab.local:8080",
    "arm.factory",
    "arm-factory.local",
    "raspi:8080",
    "raspi.local:8080",
    "raspi.home.arpa",
    "raspi-8080.local:8080",
    "raspi-8080-3.local:8080",
    "bound.lan:8080",
    "proxy.lan",
  ];
  for (const host of good) assert.equal(hostRefusal(reader({ host }), rules), undefined, host);
  assert.equal(hostRefusal(reader({}), rules), undefined);
  const wrong = [
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "arm.factory.evil.example",
    "evil.arm.factory",
    "raspi-8081.local",
    "raspi-8080-x.local",
    "2130706433x",
    "user@localhost",
    "localhost/evil",
    "localhost#evil.example",
    "[evil]:8080",
    "local host",
    "",
  ];
  for (const host of wrong) assert.match(hostRefusal(reader({ host }), rules) ?? "", /name/, host);
});

Deno.test("originRefusal() takes the same origin and those of the configuration only", () => {
  const table: [headers: Record<string, string>, isRefused: boolean][] = [
    [{ host: "arm.factory" }, false],
    [{ host: "arm.factory:8080", origin: "http://arm.factory:8080" }, false],
    [{ host: "arm.factory:443", origin: "https://arm.factory" }, false],
    [{ host: "ARM.factory", origin: "http://arm.factory" }, false],
    [{ host: "[::1]:8080", origin: "http://[::1]:8080" }, false],
    [{ host: "localhost:8080", origin: "https://panel.example" }, false],
    [{ host: "localhost:8080", origin: "HTTP://dev.example:5173" }, false],
    [{ host: "localhost:8080", origin: "https://evil.example" }, true],
    [{ host: "localhost:8080", origin: "http://localhost:9999" }, true],
    [{ host: "localhost:8080", origin: "http://localhost" }, true],
    [{ host: "localhost:8080", origin: "http://panel.example" }, true],
    [{ host: "localhost:8080", origin: "https://panel.example.evil.example" }, true],
    [{ host: "localhost:8080", origin: "null" }, true],
    [{ host: "null", origin: "null" }, true],
    [{ host: "localhost:8080", origin: "" }, true],
    [{ host: "localhost:8080", origin: "file://localhost:8080" }, true],
    [{ host: "localhost:8080", "sec-fetch-site": "cross-site" }, true],
    [{ host: "localhost:8080", "sec-fetch-site": "same-site" }, true],
    [{ host: "localhost:8080", "sec-fetch-site": "same-origin" }, false],
    [{ host: "localhost:8080", "sec-fetch-site": "none" }, false],
    [
      {
        host: "localhost:8080",
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
      },
      false,
    ],
    [
      {
        host: "localhost:8080",
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "iframe",
      },
      true,
    ],
  ];
  for (const [headers, isRefused] of table) {
    const refused = originRefusal(reader(headers), rules);
    assert.equal(refused !== undefined, isRefused, `${JSON.stringify(headers)}: ${refused}`);
  }
});
