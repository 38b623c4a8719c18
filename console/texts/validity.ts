import type { Texts } from "./text.ts";

/** What is wrong with a field of a form, before it is sent. */
export const validity = {
  missing: ["Fill in this field.", "Füllen Sie dieses Feld aus."],
  choose: ["Choose one.", "Wählen Sie etwas aus."],
  email: [
    "Write an e-mail address, such as ann@example.com.",
    "Schreiben Sie eine E-Mail-Adresse, etwa ann@example.com.",
  ],
  pattern: [
    "This is not in the form that the note at the field describes.",
    "Das hat nicht die Form, die am Feld steht.",
  ],
  other: ["This cannot be used here.", "Das ist hier nicht verwendbar."],
} as const satisfies Texts;
