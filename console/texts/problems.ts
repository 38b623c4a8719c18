import type { Texts } from "./text.ts";

/** What the cloud finds wrong in a configuration, a query or a trigger, where it is common. */
export const problems = {
  noText: ["{at} must be a text.", "{at} muss ein Text sein."],
  noNumber: ["{at} must be a number.", "{at} muss eine Zahl sein."],
  noWholeNumber: ["{at} must be a whole number.", "{at} muss eine ganze Zahl sein."],
  noBoolean: ["{at} must be true or false.", "{at} muss true oder false sein."],
  noList: ["{at} must be a list, in [ ].", "{at} muss eine Liste sein, in [ ]."],
  noObject: ["{at} must be an object, in { }.", "{at} muss ein Objekt sein, in { }."],
  missing: ["{at} is missing.", "{at} fehlt."],
  least: ["{at} must be {bound} or more.", "{at} muss mindestens {bound} sein."],
  most: ["{at} must be {bound} or less.", "{at} darf höchstens {bound} sein."],
  choice: ["{at} must be one of: {allowed}.", "{at} muss eines davon sein: {allowed}."],
  twice: [
    "{at} is taken: {first} has the same one.",
    "{at} ist vergeben: {first} hat denselben Wert.",
  ],
  circleSelf: ["{at}: the resource needs itself.", "{at}: Die Ressource braucht sich selbst."],
  circle: ["Resources need each other: {circle}.", "Ressourcen brauchen einander: {circle}."],
  unknown: [
    "{at}: there is no component or service named {found}.",
    "{at}: Es gibt keine Komponente und keinen Dienst namens {found}.",
  ],
  nameEmpty: ["{at} is empty.", "{at} ist leer."],
  nameForm: [
    "{at}: a name begins with a letter or a digit; then - and _ are allowed, too.",
    "{at}: Ein Name beginnt mit einem Buchstaben oder einer Ziffer; danach sind auch - und _ erlaubt.",
  ],
  nameLong: [
    "{at} has {n} characters; {most} are allowed.",
    "{at} hat {n} Zeichen; erlaubt sind {most}.",
  ],
  duration: [
    "{at} must be a duration, such as 30s or 1h30m.",
    "{at} muss eine Dauer sein, etwa 30s oder 1h30m.",
  ],
  more: ["And {n} more.", "Und {n} weitere."],
  fragmentCircle: [
    "Fragments include one another: {circle}.",
    "Fragmente enthalten einander: {circle}.",
  ],
  fragmentGone: [
    "There is no fragment {id} that may be used here.",
    "Es gibt kein Fragment {id}, das hier benutzt werden darf.",
  ],
  fragmentDeep: [
    "Fragment {id} is nested too deep: {most} within one another are allowed.",
    "Fragment {id} ist zu tief verschachtelt: {most} ineinander sind erlaubt.",
  ],
  variable: [
    "Fragment {id} needs the variable {name}; give it in “variables”.",
    "Fragment {id} braucht die Variable {name}; geben Sie sie unter „variables“ an.",
  ],
  noColumn: ["There is no column {name}.", "Es gibt keine Spalte {name}."],
  noTable: [
    "There is no table {name}; use readings.",
    "Es gibt keine Tabelle {name}; nehmen Sie readings.",
  ],
  noFunction: ["There is no function {name}.", "Es gibt keine Funktion {name}."],
  syntax: ["It cannot be read from “{near}” on.", "Ab „{near}“ ist sie nicht zu verstehen."],
  unfinished: ["It ends too early.", "Sie hört zu früh auf."],
  noField: ["There is no {name}.", "Es gibt kein {name}."],
  readingEmpty: ["The reading is empty.", "Der Messwert ist leer."],
  noOwners: [
    "all_machine_owners: no address is entered; add one in the organisation's notifications.",
    "all_machine_owners: Es ist keine Adresse eingetragen; tragen Sie eine unter den " +
    "Benachrichtigungen der Organisation ein.",
  ],
  noPush: [
    "Notifications of type push are not sent by this cloud.",
    "Benachrichtigungen der Art push verschickt diese Cloud nicht.",
  ],
  rolledBack: [
    "{back} of {all} machines that tried it rolled back, and {percent} % stop it",
    "{back} von {all} Maschinen, die es versuchten, gingen zurück, und {percent} % halten es an",
  ],
  onlyRolledBack: [
    "the only machine that tried it rolled back, and {percent} % stop it",
    "die einzige Maschine, die es versuchte, ging zurück, und {percent} % halten es an",
  ],
} as const satisfies Texts;
