import type { Messages } from "./messages.ts";

export const english: Messages = {
  language: "en",
  title: (machine) => `Set up ${machine}`,
  intro: "This machine is not online yet. Choose the WiFi network that it shall use.",
  network: "WiFi network",
  searchAgain: "Search again",
  noNetworks: "No network was found. Search again, or give its name below.",
  moreNetworks: (left) =>
    `and ${left} weaker ${left === 1 ? "one" : "ones"}; give the name below to use it`,
  otherNetwork: "Another network (hidden name)",
  otherName: "Its name",
  keepConnection: "Keep the present connection",
  open: "open",
  enterprise: "company sign-in; not possible here",
  wep: "WEP; not safe, not possible here",
  known: "known",
  strength: ["very weak", "weak", "good", "strong"],
  password: "Password of the WiFi network",
  show: "Show",
  hide: "Hide",
  credentials: "Machine credentials",
  credentialsHelp:
    "The cloud shows them on the page of the machine. Copy the whole text, from { to }, or save it " +
    "as a file. A QR code that came with the machine fills this in: scan it with the phone's camera.",
  credentialsHeld: "The machine has those that you gave. Leave this empty, or give others.",
  credentialsFile: "Or choose the file",
  connect: "Connect",
  problemTitle: "That did not work yet",
  failedTitle: (network) => `The machine could not connect to “${network}”`,
  failures: {
    "wrong-password": "The password is wrong. Mind upper and lower case, and try again.",
    "not-found": "The network was not found. It may be out of reach, or the name is different.",
    "no-address": "The network let the machine in but gave it no address. Restart its router.",
    "no-internet":
      "The machine is in the network, but the internet cannot be reached from it. It may want a " +
      "sign-in on a page of its own, which a machine cannot do.",
    "cloud-unreachable":
      "The internet is there, but the machine's cloud does not answer. Check app_address of the " +
      "credentials, and whether a firewall is in between.",
    "cloud-refused":
      "The cloud refuses the machine's credentials. Copy them again from the page of the machine.",
    other: "The connection failed.",
  },
  problems: {
    "old-page": "This page was open for too long. Please check what you gave and send it again.",
    "no-network": "Choose a network.",
    "name-length": "Give the name of the network: 1 to 32 bytes.",
    "password-missing": "This network needs its password.",
    "password-length":
      "A WiFi password has 8 to 63 characters, or is a key of 64 hexadecimal digits.",
    "unsupported-security": "The machine cannot use a network of this kind. Choose another one.",
    "credentials-missing": "The machine credentials are missing.",
    "credentials-wrong": "These are not the credentials of a machine.",
    busy: "The machine tries a network at the moment. Wait until it is done.",
    "too-large": "That is too much: at most 64 KiB can be sent.",
    unreadable: "The form did not arrive as a whole. Please send it again.",
  },
  detail: "Details:",
  tryingTitle: "The machine connects …",
  trying: (network) =>
    network === undefined
      ? "The machine now uses what you gave."
      : `The machine now tries the network “${network}”.`,
  pageGoesAway: (hotspot) =>
    `Meanwhile its own network “${hotspot}” ends, and this page with it. That is how it should be.`,
  ifItWorks: "If it works, the machine is online in about a minute, and you are done here.",
  ifItFails: (hotspot) =>
    `If not, “${hotspot}” comes back within a few minutes. Connect to it again, and this page says ` +
    "what was wrong.",
  lookAgain: "Look again",
  gone: (hotspot) =>
    `“${hotspot}” has ended: the machine is trying it out. Should it come back, connect to it again.`,
  connectedTitle: "The machine is online",
  connected: (network) => `It is connected to “${network}”. You can close this page.`,
  stillMissing: "The network works. Now the machine needs its credentials.",
  notFound: "There is nothing here. The page is at",
};
