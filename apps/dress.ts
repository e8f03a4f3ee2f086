// Puts the host's theme, colors, fonts and safe areas on the page, and tells times as its person has them.
import { type Fields, fieldsOf, isFields, numberOf, textOf } from "./values.ts";

interface Clock {
  readonly locale: string | undefined;
  readonly timeZone: string | undefined;
}

let clock: Clock = { locale: undefined, timeZone: undefined };

function fonts(css: string): void {
  if (css === "" || document.getElementById("fonts")) return;
  const style = document.createElement("style");
  style.id = "fonts";
  style.textContent = css;
  document.head.append(style);
}

const known = (text: string): string | undefined => (text === "" ? undefined : text);

export function dress(context: Fields): void {
  const root = document.documentElement;
  const theme = textOf(context["theme"]);
  if (theme === "light" || theme === "dark") root.style.colorScheme = theme;
  const { variables, css } = fieldsOf(context["styles"]);
  for (const [name, value] of Object.entries(fieldsOf(variables)))
    if (name.startsWith("--") && typeof value === "string") root.style.setProperty(name, value);
  fonts(textOf(fieldsOf(css)["fonts"]));
  const insets = context["safeAreaInsets"];
  if (isFields(insets))
    for (const side of ["top", "right", "bottom", "left"])
      root.style.setProperty(`--safe-${side}`, `${numberOf(insets[side]) ?? 0}px`);
  clock = { locale: known(textOf(context["locale"])), timeZone: known(textOf(context["timeZone"])) };
}

/** A host may name a language or a zone that this browser does not know. */
function inWords(instant: string, options: Intl.DateTimeFormatOptions, { locale, timeZone }: Clock): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  try {
    return at.toLocaleString(locale, { ...options, ...(timeZone !== undefined && { timeZone }) });
  } catch {
    return at.toISOString();
  }
}

export const timeOf = (instant: string): string =>
  inWords(instant, { dateStyle: "medium", timeStyle: "medium" }, clock);
export const dayOf = (instant: string): string => inWords(instant, { dateStyle: "medium" }, clock);
const IN_ZONE = {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "numeric",
  minute: "2-digit",
  timeZoneName: "short",
} as const;

/** In a zone that the data names. */
export const timeIn = (instant: string, timeZone: string): string => inWords(instant, IN_ZONE, { ...clock, timeZone });
/** Figures as the person's language groups them; those of a column have the same decimals. */
export function figure(value: number, decimals?: number): string {
  const options = decimals === undefined ? {} : { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  try {
    return value.toLocaleString(clock.locale, options);
  } catch {
    return value.toLocaleString("en", options);
  }
}
