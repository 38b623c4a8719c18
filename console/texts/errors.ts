import type { Texts } from "./text.ts";

/** What failed calls say: what is wrong, and what to do. */
export const errors = {
  unreachable: ["The cloud cannot be reached", "Die Cloud ist nicht erreichbar"],
  unreachableDo: [
    "Check your network. What you typed is kept; try again when it is back.",
    "Prüfen Sie Ihr Netz. Ihre Eingaben bleiben erhalten; versuchen Sie es danach erneut.",
  ],
  timeout: ["The cloud took too long to answer", "Die Cloud hat zu lange nicht geantwortet"],
  timeoutDo: ["Try again in a moment.", "Versuchen Sie es gleich noch einmal."],
  denied: ["You may not do that", "Dafür fehlt Ihnen das Recht"],
  deniedDo: [
    "Ask an owner of the organisation for the right, or sign in as somebody else.",
    "Bitten Sie einen Besitzer der Organisation um das Recht, oder melden Sie sich anders an.",
  ],
  missing: ["It does not exist (any more)", "Das gibt es nicht (mehr)"],
  missingDo: [
    "Somebody may have deleted or moved it, or you do not see it. Reload the list.",
    "Vielleicht wurde es gelöscht oder verschoben, oder Sie sehen es nicht. Laden Sie die Liste neu.",
  ],
  signedOut: ["Your session has ended", "Ihre Sitzung ist beendet"],
  signedOutDo: ["Sign in again.", "Melden Sie sich erneut an."],
  invalid: ["The cloud does not accept that", "Die Cloud nimmt das nicht an"],
  invalidDo: ["Correct it and send it again.", "Korrigieren Sie die Angabe und senden Sie erneut."],
  conflict: ["That is not possible as things stand", "So ist das derzeit nicht möglich"],
  conflictDo: [
    "The reason is below. Reload to see the present state.",
    "Der Grund steht unten. Laden Sie neu, um den Stand zu sehen.",
  ],
  exists: ["There is one already", "Das gibt es schon"],
  existsDo: ["Choose another name.", "Wählen Sie einen anderen Namen."],
  tooMuch: ["Too many requests", "Zu viele Anfragen"],
  tooMuchDo: [
    "Wait a minute, then try again.",
    "Warten Sie eine Minute und versuchen Sie es dann erneut.",
  ],
  internal: ["The cloud made an error", "In der Cloud ist ein Fehler aufgetreten"],
  internalDo: [
    "Try again. If it stays, give the details to who runs the cloud.",
    "Versuchen Sie es erneut. Bleibt der Fehler, geben Sie die Details an den Betreiber.",
  ],
} as const satisfies Texts;
