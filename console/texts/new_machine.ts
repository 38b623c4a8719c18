import type { Texts } from "./text.ts";

/** Adding a machine. */
export const newMachine = {
  title: ["New machine", "Neue Maschine"],
  add: ["New machine", "Neue Maschine"],
  intro: ["Two steps, about a minute.", "Zwei Schritte, etwa eine Minute."],
  stepName: ["1. Name it", "1. Benennen"],
  stepConnect: ["2. Connect it", "2. Verbinden"],
  name: ["Name", "Name"],
  nameHint: [
    "Letters, digits, - and _; you can change it later.",
    "Buchstaben, Ziffern, - und _; später änderbar.",
  ],
  location: ["Location", "Standort"],
  newLocation: ["New location …", "Neuer Standort …"],
  locationName: ["Name of the location", "Name des Standorts"],
  create: ["Create machine", "Maschine anlegen"],
  noLocations: [
    "There is no location in which you may add a machine. Ask an owner of the organisation.",
    "Es gibt keinen Standort, in dem Sie eine Maschine anlegen dürfen. Fragen Sie einen Besitzer der Organisation.",
  ],
  platform: ["How do you reach the computer?", "Wie erreichen Sie den Rechner?"],
  linux: ["Linux shell", "Linux-Shell"],
  windows: ["Windows PowerShell", "Windows-PowerShell"],
  phone: ["With a phone", "Mit einem Telefon"],
  linuxDo: [
    "Run this on the machine, in a shell. It installs the agent as a service, which brings the server.",
    "Führen Sie dies auf der Maschine in einer Shell aus. Es installiert den Agent als Dienst, der den Server bringt.",
  ],
  windowsDo: [
    "Run this on the machine, in a PowerShell that was started as administrator.",
    "Führen Sie dies auf der Maschine in einer PowerShell aus, die als Administrator gestartet wurde.",
  ],
  holdsKey: [
    "The line holds a key of this machine: give it to nobody else.",
    "Die Zeile enthält einen Schlüssel dieser Maschine: Geben Sie sie nicht weiter.",
  ],
  needsTls: [
    "This cloud is reached without TLS. The installer accepts that only on the cloud’s own host; elsewhere set the cloud up with TLS first.",
    "Diese Cloud ist ohne TLS erreichbar. Das Installationsskript nimmt das nur auf dem Host der Cloud selbst an; richten Sie sonst zuerst TLS ein.",
  ],
  noAgent: [
    "This cloud has no stable release of machine-agent for {system} yet, so the line would fail.",
    "Diese Cloud hat noch keine stabile Version von machine-agent für {system}, die Zeile würde daher scheitern.",
  ],
  addAgent: ["Add one", "Eine hinzufügen"],
  isLocal: [
    "{address} leads to this cloud on its own host only. For another computer, open this page at an address that it reaches.",
    "{address} führt nur auf dem Host der Cloud zu ihr. Öffnen Sie diese Seite für einen anderen Rechner unter einer Adresse, die er erreicht.",
  ],
  phone1: [
    "Switch the machine on. Without a network it opens a WiFi network of its own, “machine-setup-…”, and is seen by Bluetooth.",
    "Schalten Sie die Maschine ein. Ohne Netz öffnet sie ein eigenes WLAN „machine-setup-…“ und ist per Bluetooth sichtbar.",
  ],
  phone2: [
    "Join that network with the phone. Scan this code with its camera and open the link: the machine’s page has the credentials filled in. Or copy the text and paste it there.",
    "Verbinden Sie das Telefon mit diesem Netz. Scannen Sie diesen Code mit seiner Kamera und öffnen Sie den Link: Die Seite der Maschine hat die Zugangsdaten dann schon. Oder kopieren Sie den Text und fügen Sie ihn dort ein.",
  ],
  phone3: [
    "Choose your own network on that page, and give its password.",
    "Wählen Sie auf dieser Seite Ihr eigenes Netz und geben Sie sein Passwort an.",
  ],
  phoneBluetooth: [
    "By Bluetooth instead, with an app that speaks it: it finds the machine by the same name, and gives it its credentials and your network. The mobile apps of the family find machines that are configured for them, and a maker’s own app may speak it, too: see “Apps of the family” and “Bluetooth” in docs/provisioning.md.",
    "Stattdessen per Bluetooth, mit einer App, die es beherrscht: Sie findet die Maschine am selben Namen und gibt ihr Zugangsdaten und Ihr Netz. Die mobilen Apps der Familie finden Maschinen, die dafür konfiguriert sind, und auch die App eines Herstellers kann es beherrschen: siehe „Apps of the family“ und „Bluetooth“ in docs/provisioning.md.",
  ],
  qr: ["Code with the machine’s credentials", "Code mit den Zugangsdaten der Maschine"],
  credentials: ["Credentials of the machine", "Zugangsdaten der Maschine"],
  waiting: ["Waiting for {name} to come online …", "Warte, bis {name} online ist …"],
  waitingHint: [
    "This page updates automatically. You may leave it; the machine stays in the fleet.",
    "Diese Seite aktualisiert sich selbst. Sie können sie verlassen; die Maschine bleibt in der Flotte.",
  ],
  online: ["{name} is online.", "{name} ist online."],
  openIt: ["Open its page", "Ihre Seite öffnen"],
  setUp: ["Set it up", "Einrichten"],
} as const satisfies Texts;
