// Applies the host's theme, colors, fonts and safe areas to the page, and formats times and numbers for the user's locale.
import { type Fields, fieldsOf, isFields, numberOf, textOf } from "./values.ts";

interface LocaleSettings {
  readonly locale: string | undefined;
  readonly timeZone: string | undefined;
}

let localeSettings: LocaleSettings = { locale: undefined, timeZone: undefined };

/** The host's locale if this browser supports it; otherwise empty, which stands for the browser's own. */
function supportedLocales(): string[] {
  const { locale } = localeSettings;
  try {
    return locale === undefined ? [] : Intl.NumberFormat.supportedLocalesOf(locale);
  } catch {
    return [];
  }
}

function applyFonts(css: string): void {
  if (css === "" || document.getElementById("fonts")) return;
  const style = document.createElement("style");
  style.id = "fonts";
  style.textContent = css;
  document.head.append(style);
}

const undefinedIfEmpty = (text: string): string | undefined => (text === "" ? undefined : text);

export function applyHostContext(context: Fields): void {
  const root = document.documentElement;
  const theme = textOf(context["theme"]);
  if (theme === "light" || theme === "dark") root.style.colorScheme = theme;
  const { variables, css } = fieldsOf(context["styles"]);
  for (const [name, value] of Object.entries(fieldsOf(variables)))
    if (name.startsWith("--") && typeof value === "string") root.style.setProperty(name, value);
  applyFonts(textOf(fieldsOf(css)["fonts"]));
  const insets = context["safeAreaInsets"];
  if (isFields(insets))
    for (const side of ["top", "right", "bottom", "left"])
      root.style.setProperty(`--safe-${side}`, `${numberOf(insets[side]) ?? 0}px`);
  localeSettings = {
    locale: undefinedIfEmpty(textOf(context["locale"])),
    timeZone: undefinedIfEmpty(textOf(context["timeZone"])),
  };
}

/** Formats an instant. Falls back to ISO 8601, because a host may name a locale or a time zone that this browser does not support. */
function formatInstant(
  instant: string,
  options: Intl.DateTimeFormatOptions,
  { locale, timeZone }: LocaleSettings,
): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  try {
    return at.toLocaleString(locale, { ...options, timeZone });
  } catch {
    return at.toISOString();
  }
}

export const formatTime = (instant: string): string =>
  formatInstant(instant, { dateStyle: "medium", timeStyle: "long" }, localeSettings);
export const formatDay = (instant: string): string => formatInstant(instant, { dateStyle: "medium" }, localeSettings);

const TIME_UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** Formats how long ago an instant was: "3 hours ago". */
export function formatAge(instant: string): string {
  const at = Date.parse(instant);
  if (Number.isNaN(at)) return instant;
  // The API's clock may be ahead of this machine's.
  const ageMs = Math.max(0, Date.now() - at);
  const [unit, unitMs] = TIME_UNITS.find(([, ms]) => ageMs >= ms) ?? ["second", 1_000];
  return new Intl.RelativeTimeFormat(supportedLocales(), { numeric: "auto" }).format(-Math.round(ageMs / unitMs), unit);
}

/** Formats a duration in its two largest units: "2 min 5 s". */
export function formatDuration(durationMs: number): string {
  const seconds = Math.round(durationMs / 1_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

const IN_ZONE = {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "numeric",
  minute: "2-digit",
  timeZoneName: "short",
} as const;

/** Formats an instant in a time zone that the data contains. */
export const formatTimeInZone = (instant: string, timeZone: string): string =>
  formatInstant(instant, IN_ZONE, { ...localeSettings, timeZone });
const isDecimal = (text: string): text is `${number}` => /^\d+(?:\.\d+)?$/.test(text);

/** Groups the digits of a decimal string for the user's locale, without rounding. Returns any other text unchanged. */
export function formatDecimal(text: string): string {
  if (!isDecimal(text)) return text;
  return new Intl.NumberFormat(supportedLocales(), { maximumFractionDigits: 20 }).format(text);
}

/** Formats a number for the user's locale. `decimals` gives all numbers of a column the same number of decimals. */
export function formatNumber(value: number, decimals?: number): string {
  const options = decimals === undefined ? {} : { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return value.toLocaleString(supportedLocales(), options);
}
