import { writeNumbersIn } from "./numbers.ts";
import { fill, type Language, LANGUAGES, type Text, type Values } from "./text.ts";

const KEPT = "language";

function chosen(): Language {
  const wanted = localStorage.getItem(KEPT) ?? navigator.language;
  return LANGUAGES.find((each) => wanted.toLowerCase().startsWith(each)) ?? "en";
}

class LanguageChoice {
  current = $state<Language>(chosen());

  constructor() {
    writeNumbersIn(this.current);
  }

  choose(language: Language): void {
    this.current = language;
    writeNumbersIn(language);
    localStorage.setItem(KEPT, language);
    document.documentElement.lang = language;
  }
}

/** The language that is shown. */
export const language = new LanguageChoice();

/** A text in the viewer's language, with its places filled. */
export function say(text: Text, values: Values = {}): string {
  return fill(text[LANGUAGES.indexOf(language.current)] ?? text[0], values, language.current);
}
