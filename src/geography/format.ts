// A geography answer in words: counts with their nouns, one line on how complete and how old it is.
import { quote, word } from "../outside.ts";
import type { Coverage, UnreadStates } from "./country.ts";
import type { Vintage } from "./vintage.ts";

export const thousands = (value: number): string => {
  const [whole = "", ...fraction] = String(value).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
};

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${thousands(count)} ${count === 1 ? one : many}`;

/** A count of none is no statement about the places. */
export const noneListedText = (rows: readonly { readonly mandalCount: number }[]): string =>
  rows.some(({ mandalCount }) => mandalCount === 0) ? " Where mandalCount is 0, the catalogue lists none." : "";

/** Named with every answer, since the data's licence asks for it. */
function sourceText({ source, sourceRef }: Vintage): readonly string[] {
  const name = [source, sourceRef].flatMap((text) => (text === undefined ? [] : [word(text)]));
  return name.length === 0 ? [] : [`source ${name.join(" ")}`];
}

function vintageText({ sourceUpdatedAt, mixed, fallbackUsed }: Vintage): string {
  const stated =
    sourceUpdatedAt.length === 0
      ? "vintage not stated by the service"
      : `vintage ${sourceUpdatedAt.map((text) => quote(text)).join(", ")}`;
  const mixture = mixed ? (sourceUpdatedAt.length === 1 ? " (for a part of it)" : " (mixed)") : "";
  return `Catalogue ${stated}${mixture}; fallbackUsed ${fallbackUsed}`;
}

/** States, or as many as are named. */
const statesText = ({ states, more }: UnreadStates): string =>
  `${states.join(" ")}${more === undefined ? "" : ` and ${more} more`}`;

/** One reason, with its states. */
export function unreadText(group: UnreadStates): string {
  const { reason, retryAfterSeconds, states, more = 0 } = group;
  const when = retryAfterSeconds === undefined ? "" : `; ask again in ${retryAfterSeconds} s`;
  return `${states.length + more} unread: ${statesText(group)} (${reason}${when})`;
}

export function coverageLine({ statesRead, statesTotal, unread }: Coverage, vintage: Vintage): string {
  const { oldest, newest } = vintage.readAt;
  const read = `${statesRead} of ${plural(statesTotal, "state")} read ${oldest}${newest === oldest ? "" : ` to ${newest}`}`;
  return `${[vintageText(vintage), read, ...sourceText(vintage), ...unread.map(unreadText)].join("; ")}.`;
}
