import assert from "node:assert/strict";
import { originPatterns, parsePolicy } from "./origins.ts";

// What `apt-cache policy` says in the language C: Debian recorded, the others put together of the
// fields that the Release files of their archives have.
const DEBIAN = `Package files:
 100 /var/lib/dpkg/status
     release a=now
 100 http://deb.example.org/debian bookworm-backports/main amd64 Packages
     release o=Debian Backports,a=oldstable-backports,n=bookworm-backports,l=Debian Backports,c=main,b=amd64
     origin deb.example.org
 500 https://download.docker.com/linux/debian bookworm/stable amd64 Packages
     release o=Docker,a=bookworm,l=Docker CE,c=stable,b=amd64
     origin download.docker.com
 500 http://deb.example.org/debian-security bookworm-security/main amd64 Packages
     release v=12,o=Debian,a=oldstable-security,n=bookworm-security,l=Debian-Security,c=main,b=amd64
     origin deb.example.org
 500 http://deb.example.org/debian bookworm-updates/main amd64 Packages
     release v=12-updates,o=Debian,a=oldstable-updates,n=bookworm-updates,l=Debian,c=main,b=amd64
     origin deb.example.org
 500 http://deb.example.org/debian bookworm/contrib amd64 Packages
     release v=12.15,o=Debian,a=oldstable,n=bookworm,l=Debian,c=contrib,b=amd64
     origin deb.example.org
 500 http://deb.example.org/debian bookworm/main amd64 Packages
     release v=12.15,o=Debian,a=oldstable,n=bookworm,l=Debian,c=main,b=amd64
     origin deb.example.org
Pinned packages:
     firefox -> 128.0 with priority 900
`;

const UBUNTU = `Package files:
 100 /var/lib/dpkg/status
     release a=now
 500 http://archive.ubuntu.com/ubuntu jammy-security/main amd64 Packages
     release v=22.04,o=Ubuntu,a=jammy-security,n=jammy,l=Ubuntu,c=main,b=amd64
     origin archive.ubuntu.com
 100 http://archive.ubuntu.com/ubuntu jammy-backports/main amd64 Packages
     release v=22.04,o=Ubuntu,a=jammy-backports,n=jammy,l=Ubuntu,c=main,b=amd64
     origin archive.ubuntu.com
 500 http://archive.ubuntu.com/ubuntu jammy-updates/main amd64 Packages
     release v=22.04,o=Ubuntu,a=jammy-updates,n=jammy,l=Ubuntu,c=main,b=amd64
     origin archive.ubuntu.com
 500 http://archive.ubuntu.com/ubuntu jammy/main amd64 Packages
     release v=22.04,o=Ubuntu,a=jammy,n=jammy,l=Ubuntu,c=main,b=amd64
     origin archive.ubuntu.com
Pinned packages:
`;

const RASPBERRY_PI_OS = `Package files:
 100 /var/lib/dpkg/status
     release a=now
 500 http://archive.raspberrypi.com/debian bookworm/main arm64 Packages
     release o=Raspberry Pi Foundation,a=stable,n=bookworm,l=Raspberry Pi Foundation,c=main,b=arm64
     origin archive.raspberrypi.com
 500 http://deb.example.org/debian-security bookworm-security/main arm64 Packages
     release v=12,o=Debian,a=stable-security,n=bookworm-security,l=Debian-Security,c=main,b=arm64
     origin deb.example.org
 500 http://deb.example.org/debian bookworm/main arm64 Packages
     release v=12.5,o=Debian,a=stable,n=bookworm,l=Debian,c=main,b=arm64
     origin deb.example.org
Pinned packages:
`;

const OWN = `Package files:
 500 file:/srv/debs ./ Packages
     release c=
 500 https://apt.example.com/flat ./ Packages
     release c=
     origin apt.example.com
 500 https://pkgs.example.com/x stable/main amd64 Packages
     release o=Tools, Inc.,a=stable,n=stable,l=Tools [x]*,c=main,b=amd64
     origin pkgs.example.com
 500 https://bad.example.com/x stable/main amd64 Packages
     release o=He said "yes",n=stable,l=x,c=main,b=amd64
     origin bad.example.com
  -1 https://never.example.com/x stable/main amd64 Packages
     release o=Never,n=stable,l=Never,c=main,b=amd64
     origin never.example.com
Pinned packages:
`;

const TABLE: readonly [string, string, "all" | "security", string[]][] = [
  ["Debian with Docker and backports", DEBIAN, "all", [
    "origin=Debian,codename=bookworm,label=Debian",
    "origin=Debian,codename=bookworm-security,label=Debian-Security",
    "origin=Debian,codename=bookworm-updates,label=Debian",
    "origin=Docker,archive=bookworm,label=Docker CE",
  ]],
  ["Debian", DEBIAN, "security", [
    "origin=Debian,codename=bookworm-security,label=Debian-Security",
  ]],
  ["Ubuntu, whose pockets share a codename", UBUNTU, "all", [
    "origin=Ubuntu,codename=jammy,archive=jammy,label=Ubuntu",
    "origin=Ubuntu,codename=jammy,archive=jammy-security,label=Ubuntu",
    "origin=Ubuntu,codename=jammy,archive=jammy-updates,label=Ubuntu",
  ]],
  ["Ubuntu", UBUNTU, "security", [
    "origin=Ubuntu,codename=jammy,archive=jammy-security,label=Ubuntu",
  ]],
  ["Raspberry Pi OS", RASPBERRY_PI_OS, "all", [
    "origin=Debian,codename=bookworm,label=Debian",
    "origin=Debian,codename=bookworm-security,label=Debian-Security",
    "origin=Raspberry Pi Foundation,codename=bookworm,label=Raspberry Pi Foundation",
  ]],
  ["Raspberry Pi OS", RASPBERRY_PI_OS, "security", [
    "origin=Debian,codename=bookworm-security,label=Debian-Security",
  ]],
  ["odd repositories", OWN, "all", [
    "origin=Tools\\, Inc.,codename=stable,archive=stable,label=Tools [[]x][*]",
    "site=apt.example.com",
  ]],
  ["no lists yet", "Package files:\n 100 /var/lib/dpkg/status\n     release a=now\n", "all", []],
  ["nothing", "", "all", []],
];

for (const [name, text, kind, expected] of TABLE) {
  Deno.test(`originPatterns(): ${name}, ${kind}`, () => {
    const repositories = parsePolicy(text);
    assert.deepEqual(originPatterns(repositories, kind), expected);
    assert.deepEqual(originPatterns(repositories.toReversed(), kind), expected, "in any order");
  });
}
