import assert from "node:assert/strict";
import { childVariables } from "./child_variables.ts";

const COMPUTER = {
  PATH: "/bin",
  HOME: "/root",
  LC_ALL: "C",
  https_proxy: "http://proxy:3128",
  SystemRoot: "C:\\Windows",
  "ProgramFiles(x86)": "C:\\p",
  CUDA_VISIBLE_DEVICES: "0",
  ROS_DOMAIN_ID: "3",
  MACHINE_LOGFILE: "/l",
  XAUTHORITY: "/x",
};
const SECRETS = {
  AWS_ACCESS_KEY_ID: "a",
  AWS_SECRET_ACCESS_KEY: "b",
  AWS_SESSION_TOKEN: "c",
  AWS_PROFILE: "p",
  GOOGLE_APPLICATION_CREDENTIALS: "/g",
  AZURE_CLIENT_SECRET: "d",
  GITHUB_TOKEN: "e",
  DATABASE_URL: "postgres://u:p@h/d",
  SSH_AUTH_SOCK: "/s",
  KUBECONFIG: "/k",
  MACHINE_SECRET: "s",
  VIAM_API_KEY: "k",
  UV_PUBLISH_TOKEN: "u",
  MACHINE_CLOUD_TOKEN: "t",
};

Deno.test("childVariables() passes on what describes the host, and nothing that opens something", () => {
  assert.deepEqual(childVariables({ ...COMPUTER, ...SECRETS }), COMPUTER);
});

Deno.test("childVariables() passes on what is named, with a * for the rest of a name", () => {
  const named = { MACHINE_PASS_ENV: "AWS_*, GITHUB_TOKEN,,OTHER" };
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE } = SECRETS;
  assert.deepEqual(childVariables({ ...COMPUTER, ...SECRETS, ...named }), {
    ...COMPUTER,
    ...named,
    ...{ AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE },
    GITHUB_TOKEN: "e",
  });
});
