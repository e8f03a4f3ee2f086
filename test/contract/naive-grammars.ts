// Implements date-times and URIs as plain predicates, written from the contract and RFC 3986, to compare with the schemas.

const digits = "0123456789";
const lower = "abcdefghijklmnopqrstuvwxyz";
const upper = lower.toUpperCase();
export const alphanumeric = lower + upper + digits;

export const consistsOf = (text: string, alphabet: string): boolean =>
  [...text].every((char) => alphabet.includes(char));

const hasLength = (text: string, min: number, max: number): boolean => text.length >= min && text.length <= max;

const isNumberIn = (text: string, length: number, min: number, max: number): boolean =>
  text.length === length && consistsOf(text, digits) && Number(text) >= min && Number(text) <= max;

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

/** `hh:mm:ss` with an optional fraction of 1 to `maxFraction` digits; second 60 is valid at 23:59 UTC. */
function isTime(text: string, maxFraction: number, offsetMinutes: number): boolean {
  const [withoutFraction = "", fraction, ...rest] = text.split(".");
  const isLastMinute = (minutesOf(withoutFraction) - offsetMinutes + 2 * 1440) % 1440 === 1439;
  return (
    rest.length === 0 &&
    isHourAndMinute(withoutFraction.slice(0, 5)) &&
    withoutFraction.charAt(5) === ":" &&
    isNumberIn(withoutFraction.slice(6), 2, 0, isLastMinute ? 60 : 59) &&
    (fraction === undefined || (hasLength(fraction, 1, maxFraction) && consistsOf(fraction, digits)))
  );
}

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

/** An absolute URI: a scheme, a colon, and only characters that RFC 3986 allows. */
export const isUri = (text: string): boolean =>
  /^[A-Za-z]/.test(text) &&
  consistsOf(text.slice(0, text.indexOf(":")), `${alphanumeric}+-.`) &&
  text.includes(":") &&
  consistsOf(text, `${alphanumeric}-._~:/?#[]@!$&'()*+,;=%`);
