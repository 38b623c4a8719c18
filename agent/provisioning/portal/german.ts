import type { Messages } from "./messages.ts";

export const german: Messages = {
  language: "de",
  title: (machine) => `${machine} einrichten`,
  intro: "Diese Maschine ist noch nicht online. Wählen Sie das WLAN, das sie benutzen soll.",
  network: "WLAN",
  searchAgain: "Neu suchen",
  noNetworks:
    "Es wurde kein Netz gefunden. Suchen Sie noch einmal, oder geben Sie unten den Namen an.",
  moreNetworks: (left) =>
    `und ${left} ${left === 1 ? "schwächeres" : "schwächere"}; dafür den Namen unten angeben`,
  otherNetwork: "Anderes Netz (verborgener Name)",
  otherName: "Sein Name",
  keepConnection: "Die jetzige Verbindung behalten",
  open: "offen",
  enterprise: "Firmenanmeldung; hier nicht möglich",
  wep: "WEP; unsicher, hier nicht möglich",
  known: "bekannt",
  strength: ["sehr schwach", "schwach", "gut", "stark"],
  password: "Passwort des WLANs",
  show: "Zeigen",
  hide: "Verbergen",
  credentials: "Zugangsdaten der Maschine",
  credentialsHelp:
    "Die Cloud zeigt sie auf der Seite der Maschine. Kopieren Sie den ganzen Text, von { bis }, " +
    "oder speichern Sie ihn als Datei. Ein QR-Code, der bei der Maschine lag, füllt das Feld aus: " +
    "lesen Sie ihn mit der Kamera des Telefons.",
  credentialsHeld:
    "Die Maschine hat die, die Sie angegeben haben. Lassen Sie das leer, oder geben Sie andere an.",
  credentialsFile: "Oder die Datei auswählen",
  connect: "Verbinden",
  problemTitle: "Das hat noch nicht geklappt",
  failedTitle: (network) => `Die Maschine konnte sich nicht mit „${network}“ verbinden`,
  failures: {
    "wrong-password":
      "Das Passwort ist falsch. Achten Sie auf Groß- und Kleinschreibung, und versuchen Sie es noch einmal.",
    "not-found":
      "Das Netz wurde nicht gefunden. Vielleicht ist es zu weit weg, oder es heißt anders.",
    "no-address":
      "Das Netz hat die Maschine eingelassen, ihr aber keine Adresse gegeben. Starten Sie den Router neu.",
    "no-internet":
      "Die Maschine ist im Netz, erreicht von dort aber das Internet nicht. Vielleicht verlangt das " +
      "Netz eine Anmeldung auf einer eigenen Seite; das kann eine Maschine nicht.",
    "cloud-unreachable":
      "Das Internet ist da, aber die Cloud der Maschine antwortet nicht. Prüfen Sie app_address in " +
      "den Zugangsdaten und ob eine Firewall dazwischen ist.",
    "cloud-refused":
      "Die Cloud lehnt die Zugangsdaten der Maschine ab. Kopieren Sie sie noch einmal von der Seite der Maschine.",
    other: "Die Verbindung ist gescheitert.",
  },
  problems: {
    "old-page":
      "Diese Seite war zu lange offen. Bitte prüfen Sie Ihre Angaben, und senden Sie sie noch einmal.",
    "no-network": "Wählen Sie ein Netz.",
    "name-length": "Geben Sie den Namen des Netzes an: 1 bis 32 Bytes.",
    "password-missing": "Dieses Netz braucht sein Passwort.",
    "password-length":
      "Ein WLAN-Passwort hat 8 bis 63 Zeichen oder ist ein Schlüssel aus 64 hexadezimalen Ziffern.",
    "unsupported-security":
      "Ein Netz dieser Art kann die Maschine nicht benutzen. Wählen Sie ein anderes.",
    "credentials-missing": "Die Zugangsdaten der Maschine fehlen.",
    "credentials-wrong": "Das sind nicht die Zugangsdaten einer Maschine.",
    busy: "Die Maschine probiert gerade ein Netz aus. Warten Sie, bis sie fertig ist.",
    "too-large": "Das ist zu viel: höchstens 64 KiB können gesendet werden.",
    unreadable: "Das Formular ist nicht ganz angekommen. Bitte senden Sie es noch einmal.",
  },
  detail: "Einzelheiten (englisch):",
  tryingTitle: "Die Maschine verbindet sich …",
  trying: (network) =>
    network === undefined
      ? "Die Maschine benutzt jetzt Ihre Angaben."
      : `Die Maschine probiert jetzt das Netz „${network}“ aus.`,
  pageGoesAway: (hotspot) =>
    `Währenddessen endet ihr eigenes Netz „${hotspot}“ und mit ihm diese Seite. Das soll so sein.`,
  ifItWorks: "Klappt es, ist die Maschine in etwa einer Minute online, und Sie sind hier fertig.",
  ifItFails: (hotspot) =>
    `Klappt es nicht, ist „${hotspot}“ in wenigen Minuten wieder da. Verbinden Sie sich noch einmal ` +
    "damit, dann sagt diese Seite, woran es lag.",
  lookAgain: "Noch einmal nachsehen",
  gone: (hotspot) =>
    `„${hotspot}“ ist beendet: Die Maschine probiert es aus. Kommt es zurück, verbinden Sie sich wieder damit.`,
  connectedTitle: "Die Maschine ist online",
  connected: (network) => `Sie ist mit „${network}“ verbunden. Sie können diese Seite schließen.`,
  stillMissing: "Das Netz funktioniert. Jetzt braucht die Maschine noch ihre Zugangsdaten.",
  notFound: "Hier ist nichts. Die Seite ist unter",
};
