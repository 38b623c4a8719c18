import assert from "node:assert/strict";
import { keptOptions, periodicText, upgradesText } from "./apt_files.ts";

Deno.test("keptOptions() keeps everything of a file but its origins", () => {
  const dump = `Unattended-Upgrade "";
Unattended-Upgrade::Origins-Pattern "";
Unattended-Upgrade::Origins-Pattern:: "origin=Debian";
Unattended-Upgrade::Allowed-Origins:: "x:y";
Unattended-Upgrade::Package-Blacklist:: "linux-";
Unattended-Upgrade::Automatic-Reboot-Time "02:00";
Dpkg::Options:: "--force-confold";
APT::Architecture "amd64";
Unattended-Upgrade::Mail "a"; evil "b";
`;
  assert.deepEqual(keptOptions(dump), [
    'Unattended-Upgrade::Package-Blacklist:: "linux-";',
    'Unattended-Upgrade::Automatic-Reboot-Time "02:00";',
    'Dpkg::Options:: "--force-confold";',
  ]);
});

Deno.test("the files say who wrote them and what is upgraded", () => {
  assert.match(periodicText(true), /^\/\/ Written by machine-agent;/);
  assert.match(periodicText(true), /APT::Periodic::Unattended-Upgrade "1";\n$/);
  assert.match(periodicText(false), /Update-Package-Lists "0";\n.*Unattended-Upgrade "0";\n$/);
  const text = upgradesText(["origin=A", "site=b"], ['Unattended-Upgrade::Mail "root";']);
  assert.match(text, /Origins-Pattern {\n {2}"origin=A";\n {2}"site=b";\n};\n/);
  assert.match(text, /\nUnattended-Upgrade::Mail "root";\n$/);
});
