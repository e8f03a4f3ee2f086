// The contract's grammars of strings as plain predicates, written from its words alone: what the schemas are compared with.

const digits = "0123456789";
const lower = "abcdefghijklmnopqrstuvwxyz";
const upper = lower.toUpperCase();
export const alphanumeric = lower + upper + digits;

export const isMadeOf = (text: string, alphabet: string): boolean => [...text].every((char) => alphabet.includes(char));

const hasLength = (text: string, min: number, max: number): boolean => text.length >= min && text.length <= max;

const startsWithOneOf = (text: string, alphabet: string): boolean => text !== "" && alphabet.includes(text.charAt(0));

export const isHex = (text: string, length: number): boolean =>
  text.length === length && isMadeOf(text, `${digits}abcdef`);

export const isPrefixedHex32 = (text: string, prefix: string): boolean =>
  text.startsWith(prefix) && isHex(text.slice(prefix.length), 32);

export const isWorkspaceStyleId = (text: string): boolean =>
  hasLength(text, 1, 128) &&
  startsWithOneOf(text, alphanumeric) &&
  isMadeOf(text, `${alphanumeric}_.:-`) &&
  !text.includes("..");

export const isProcessingKey = (text: string): boolean => text.length >= 8 && isWorkspaceStyleId(text);

export const isInputKey = (text: string): boolean => hasLength(text, 1, 128) && isMadeOf(text, `${alphanumeric}._:/-`);

const isControl = (char: string): boolean => {
  const code = char.charCodeAt(0);
  return code <= 0x1f || (code >= 0x7f && code <= 0x9f);
};

/** The blank characters of Unicode that are no control characters; U+FEFF as ECMAScript counts it. */
const blanks =
  " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";

const isReadable = (text: string): boolean => {
  const units = text.split("");
  return !units.some(isControl) && units.some((unit) => !blanks.includes(unit));
};

export const isWrittenText = (text: string, min: number, max: number): boolean =>
  hasLength(text, min, max) && isReadable(text);

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** Every surrogate is half of a pair. */
const isValidUnicode = (text: string): boolean =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)).every((unit, at, all) => {
    if (isHigh(unit)) return isLow(all[at + 1] ?? 0);
    if (isLow(unit)) return isHigh(all[at - 1] ?? 0);
    return true;
  });

export const countCodePoints = (text: string): number => Array.from(text).length;

export const isPurpose = (text: string): boolean =>
  countCodePoints(text) >= 1 && countCodePoints(text) <= 160 && isReadable(text) && isValidUnicode(text);

const isDecimal = (text: string): boolean =>
  hasLength(text, 1, 19) && isMadeOf(text, digits) && (text === "0" || text.charAt(0) !== "0");

export const isDecimalVersion = isDecimal;
export const isPositiveDecimalVersion = (text: string): boolean => isDecimal(text) && text !== "0";
export const isDecimalAmount = (text: string): boolean => isDecimal(text) && BigInt(text) <= 9223372036854775807n;

export const isJobETag = (text: string): boolean => {
  const version = text.slice(1, -1);
  const isQuoted = text.length > 2 && text.startsWith('"') && text.endsWith('"');
  return isQuoted && version.length <= 16 && isPositiveDecimalVersion(version) && BigInt(version) <= 9007199254740991n;
};

export const isRecipeCursor = (text: string): boolean => text.length === 43 && isMadeOf(text, `${alphanumeric}_-`);

export const isPort = (text: string): boolean =>
  hasLength(text, 1, 80) && startsWithOneOf(text, lower + upper) && isMadeOf(text, `${alphanumeric}_-`);

export const isMetric = (text: string): boolean =>
  hasLength(text, 1, 80) && startsWithOneOf(text, upper) && isMadeOf(text, `${upper + digits}_`);

export const isPermission = (text: string): boolean => {
  const parts = text.split(":");
  return (
    hasLength(text, 1, 128) &&
    parts.length === 2 &&
    parts.every((part) => part !== "" && isMadeOf(part, `${alphanumeric}_.-`))
  );
};

const isNumberIn = (text: string, length: number, min: number, max: number): boolean =>
  text.length === length && isMadeOf(text, digits) && Number(text) >= min && Number(text) <= max;

function daysIn(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month === 2) return isLeap ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isDate(text: string): boolean {
  const [year = "", month = "", day = "", ...rest] = text.split("-");
  return (
    rest.length === 0 &&
    isNumberIn(year, 4, 0, 9999) &&
    isNumberIn(month, 2, 1, 12) &&
    isNumberIn(day, 2, 1, daysIn(Number(year), Number(month)))
  );
}

function isHourAndMinute(text: string): boolean {
  const [hour = "", minute = "", ...rest] = text.split(":");
  return rest.length === 0 && isNumberIn(hour, 2, 0, 23) && isNumberIn(minute, 2, 0, 59);
}

/** Minutes since midnight of `hh:mm`. */
const minutesOf = (text: string): number => 60 * Number(text.slice(0, 2)) + Number(text.slice(3, 5));

/** `hh:mm:ss` with an optional fraction of 1 to `maxFraction` digits; second 60 where UTC is 23:59. */
function isTime(text: string, maxFraction: number, offsetMinutes: number): boolean {
  const [whole = "", fraction, ...rest] = text.split(".");
  const isLastMinute = (minutesOf(whole) - offsetMinutes + 2 * 1440) % 1440 === 1439;
  return (
    rest.length === 0 &&
    isHourAndMinute(whole.slice(0, 5)) &&
    whole.charAt(5) === ":" &&
    isNumberIn(whole.slice(6), 2, 0, isLastMinute ? 60 : 59) &&
    (fraction === undefined || (hasLength(fraction, 1, maxFraction) && isMadeOf(fraction, digits)))
  );
}

export const isUtcInstant = (text: string): boolean =>
  text.charAt(10) === "T" && text.endsWith("Z") && isDate(text.slice(0, 10)) && isTime(text.slice(11, -1), 6, 0);

export function isDateTime(text: string): boolean {
  if (text.length > 40 || !"Tt".includes(text.charAt(10)) || !isDate(text.slice(0, 10))) return false;
  const time = text.slice(11);
  if (/[Zz]$/.test(time)) return isTime(time.slice(0, -1), Infinity, 0);
  const sign = time.charAt(time.length - 6);
  return (
    "+-".includes(sign) &&
    isHourAndMinute(time.slice(-5)) &&
    isTime(time.slice(0, -6), Infinity, (sign === "-" ? -1 : 1) * minutesOf(time.slice(-5)))
  );
}

/** An absolute URI: a scheme, a colon, and only characters that RFC 3986 knows. */
export const isUri = (text: string): boolean =>
  /^[A-Za-z]/.test(text) &&
  isMadeOf(text.slice(0, text.indexOf(":")), `${alphanumeric}+-.`) &&
  text.includes(":") &&
  isMadeOf(text, `${alphanumeric}-._~:/?#[]@!$&'()*+,;=%`);
