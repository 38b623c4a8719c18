/** What the guide shows its reader. */
export interface GuideFacts {
  cloudUrl: string;
  serverUrl: string;
  /** Signs the owner in, once. */
  signInUrl: string;
  /** It is opened in a browser already. */
  isOpened: boolean;
  /** Prints another such link. */
  signInCommand: string;
  apiKeyId: string;
  apiKey: string;
  partId: string;
  logDir: string;
  /** Script that installs the Python SDK and prints the path of its interpreter. */
  pythonInstaller: string;
  /** Pinned release of the Python SDK that the lines were tried with. */
  pythonSdkVersion: string;
}

/** What `make run` prints once the machine is online. */
export function renderGuide(facts: GuideFacts): string {
  return `
The demo machine is online.

  ${
    facts.isOpened
      ? "A browser opens with this link"
      : "Open this link in a browser"
  }, which signs you in, once, within an hour:

  ${facts.signInUrl}

  Another one: ${facts.signInCommand}

  cloud        ${facts.cloudUrl}
  server       ${facts.serverUrl}
  API key id   ${facts.apiKeyId}
  API key      ${facts.apiKey}
  logs         ${facts.logDir}

Three things to try:

1. Look at the machine on that page, and use it under Control: watch "camera" and drive "rover" with
   the keys through a room that is simulated, wheels and all. Behind it lies a red ball; once the
   camera sees it, a trigger has this terminal say so. The sensor "gardener" comes a moment later: it
   is a module in Python, installed meanwhile.

   On the command line: bin/machine login --cloud ${facts.cloudUrl} \\
     --key-id ${facts.apiKeyId} --key ${facts.apiKey}
   and then bin/machine machines list, bin/machine logs -f demo, bin/machine --help.

2. Change the machine's configuration from Python and see the page follow. In another terminal,
   start Python with the published SDK (with a Python of your own: pip install
   viam-sdk==${facts.pythonSdkVersion}, then python3 -m asyncio):

   "$('${facts.pythonInstaller}')" -m asyncio

   and paste three lines; any other number does as well, the gardener has an opinion on it:

${indent(pythonLines(facts))}

3. Read a sensor from the machine's own server, in another terminal:

${indent(curlLines(facts))}

Ctrl-C stops everything. The next make run resumes where this one was.
`;
}

/** Three lines for `python3 -m asyncio` that give the demo's second sensor another reading. */
function pythonLines(facts: GuideFacts): string[] {
  const address = new URL(facts.cloudUrl).host;
  return [
    "from viam.app.viam_client import Credentials, DialOptions, ViamClient",
    `app = (await ViamClient.create_from_dial_options(DialOptions(insecure=True, ` +
    `auth_entity="${facts.apiKeyId}", credentials=Credentials("api-key", "${facts.apiKey}")), ` +
    `"${address}")).app_client; part = await app.get_robot_part("${facts.partId}")`,
    `part.robot_config["components"][1]["attributes"] = {"readings": {"temperature": 24.5}}; ` +
    `part = await app.update_robot_part(part.id, part.name, part.robot_config)`,
  ];
}

/** Two lines for a shell that read the host sensor. */
function curlLines(facts: GuideFacts): string[] {
  const json = `-H "content-type: application/json"`;
  return [
    `TOKEN=$(curl -s ${facts.serverUrl}/proto.rpc.v1.AuthService/Authenticate ${json} ` +
    `-d '{"entity":"${facts.apiKeyId}","credentials":{"type":"api-key","payload":"${facts.apiKey}"}}' ` +
    `| sed 's/.*"accessToken": *"//; s/".*//')`,
    `curl -s ${facts.serverUrl}/viam.component.sensor.v1.SensorService/GetReadings ${json} ` +
    `-H "authorization: Bearer $TOKEN" -d '{"name":"host"}'; echo`,
  ];
}

function indent(lines: readonly string[]): string {
  return lines.map((line) => `      ${line}`).join("\n");
}
