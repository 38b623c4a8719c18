import type { Texts } from "./text.ts";

/** How an organisation's notifications go out. */
export const notifications = {
  denied: ["Notifications are for owners", "Benachrichtigungen sind für Besitzer"],
  deniedText: [
    "Ask an owner of the organisation to look here, or to give you the right.",
    "Bitten Sie einen Besitzer der Organisation, hier nachzusehen oder Ihnen das Recht zu geben.",
  ],
  owners: ["Owners of all machines", "Besitzer aller Maschinen"],
  ownersEdit: ["Change addresses", "Adressen ändern"],
  ownersText: [
    "Triggers that notify all_machine_owners write to these addresses, and to those of the machine and its location.",
    "Trigger, die all_machine_owners benachrichtigen, schreiben an diese Adressen und an die der Maschine und ihres Standorts.",
  ],
  ownersNone: ["No addresses yet.", "Noch keine Adressen."],
  addresses: ["E-mail addresses", "E-Mail-Adressen"],
  addressesHint: [
    "With commas between them; 100 at most.",
    "Durch Kommas getrennt; höchstens 100.",
  ],
  mail: ["Mail", "E-Mail"],
  mailOff: ["This cloud sends no mail.", "Diese Cloud versendet keine E-Mails."],
  mailServer: ["Server", "Server"],
  mailFrom: ["Sender", "Absender"],
  tls: ["TLS from the start", "TLS von Anfang an"],
  startTls: ["TLS where the server offers it", "TLS, wo der Server es anbietet"],
  mailHow: [
    "Who runs the cloud sets it in the environment and the command of machine-cloud serve; see “Mail” in docs/triggers.md:",
    "Wer die Cloud betreibt, legt das in der Umgebung und im Befehl von machine-cloud serve fest; siehe „Mail“ in docs/triggers.md:",
  ],
  lastFailure: ["Last failure", "Letzter Fehlschlag"],
  noFailure: [
    "No notification of the last 30 days has failed at its last attempt.",
    "Keine Benachrichtigung der letzten 30 Tage ist beim letzten Versuch fehlgeschlagen.",
  ],
  failedTo: ["To {target}, by the trigger {trigger}:", "An {target}, durch den Trigger {trigger}:"],
  test: ["Send a test mail to {to}", "Testmail an {to} senden"],
  testNobody: [
    "You can send a test mail to one of the addresses above, when there is one, or to yourself, when you are signed in as a person.",
    "Eine Testmail können Sie an eine der Adressen oben senden, sobald es eine gibt, oder an sich selbst, wenn Sie als Person angemeldet sind.",
  ],
  testSent: [
    "The mail server took the mail to {to}:",
    "Der Mailserver hat die Mail an {to} angenommen:",
  ],
  testFailed: ["Not taken by the mail server", "Vom Mailserver nicht angenommen"],
  webhooks: ["Webhooks", "Webhooks"],
  privateOn: [
    "They may lead into private networks and to the cloud’s own host.",
    "Sie dürfen in private Netze und zum Host der Cloud führen.",
  ],
  privateOff: [
    "They lead to public addresses only; private networks are refused.",
    "Sie führen nur zu öffentlichen Adressen; private Netze werden abgelehnt.",
  ],
  privateHow: [
    "With this option of machine-cloud serve private networks are allowed; see “Webhooks” in docs/triggers.md:",
    "Mit dieser Option von machine-cloud serve sind private Netze erlaubt; siehe „Webhooks“ in docs/triggers.md:",
  ],
  signed: [
    "Each trigger signs its webhooks with a secret of its own, which stands with it.",
    "Jeder Trigger signiert seine Webhooks mit einem eigenen Geheimnis, das bei ihm steht.",
  ],
  toTriggers: ["Triggers and deliveries", "Trigger und Zustellungen"],
} as const satisfies Texts;
