import { deepEqual } from "node:assert/strict";
import { secretValues } from "./secrets.ts";

Deno.test("secretValues() finds every secret of a configuration and nothing else", () => {
  const config = {
    cloud: {
      id: "part",
      secret: "part secret",
      location_secrets: [{ id: "1", secret: "location secret" }],
      api_key: { id: "key id", key: "cloud key" },
      tls_private_key: "pem",
    },
    auth: { handlers: [{ type: "api-key", config: { "id-1": "key 1", keys: ["id-1"] } }] },
    modules: [{ name: "m", env: { PATH: "/bin", API_TOKEN: "module token" } }],
    components: [{ name: "camera", attributes: { password: "pw", width: 3, key_id: "open" } }],
    remotes: [{ name: "r", auth: { credentials: { type: "api-key", payload: "remote key" } } }],
    maintenance: { sensor_name: "s", maintenance_allowed_key: "ok" },
  };
  deepEqual(secretValues(config).toSorted(), [
    "cloud key",
    "key 1",
    "location secret",
    "module token",
    "part secret",
    "pem",
    "pw",
    "remote key",
  ]);
});
