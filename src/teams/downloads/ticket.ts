// What a link to a file stands for. It is sealed into the link itself: nothing of it is kept, and any instance redeems it.
import * as z from "zod/v4";
import { Failure } from "../../failure.ts";
import type { Link } from "../../toolkit/linked-files.ts";
import type { Seals } from "../keys/encryption.ts";

/**
 * The caller that a link was made for, as far as the membership in the link's team depends on them. Membership is checked again when
 * the link is opened. `groups`: only the value of the team's claim, and only if the caller belonged to the team by it.
 */
const holder = z.strictObject({ issuer: z.string(), subject: z.string(), groups: z.array(z.string()) });
export type Holder = z.infer<typeof holder>;

const named = { team: z.string().optional(), holder, client: z.string(), fileName: z.string() };

export const Ticket = z.discriminatedUnion("kind", [
  z.strictObject({ ...named, kind: z.literal("asset"), assetId: z.string() }),
  /** Rows are made anew by the same call. */
  z.strictObject({ ...named, kind: z.literal("rows"), tool: z.string(), arguments: z.record(z.string(), z.unknown()) }),
]);
export type Ticket = z.infer<typeof Ticket>;

export const DOWNLOADS_PATH = "/downloads/";

/** Not all that stands between takes a longer address. */
const MAX_CHARS = 4_000;

export interface LinkMaker {
  readonly seals: Pick<Seals, "seal">;
  /** Where callers reach this deployment: an origin, and perhaps a path. */
  readonly publicUrl: string;
  /** How long a link can be opened. */
  readonly seconds: number;
  /** For whom links are made. */
  readonly caller: string;
  readonly holder: Holder;
  /** Undefined for a caller who is in no team. */
  readonly team: string | undefined;
  /** The OAuth client that they call with. */
  readonly client: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const tooLong = (): Failure =>
  new Failure({
    kind: "invalid_arguments",
    message: "No link can be made: the arguments are too long for one.",
    retryable: false,
    sideEffect: "none",
    next: "Ask for less in one call, such as fewer states, or use a shorter file name.",
  });

/** What a link is made for: the maker adds whose it is. */
export type LinkedThing =
  | { readonly kind: "asset"; readonly fileName: string; readonly assetId: string }
  | {
      readonly kind: "rows";
      readonly fileName: string;
      readonly tool: string;
      readonly arguments: Readonly<Record<string, unknown>>;
    };

/** Throws Failure where it would be too long. */
export async function makeLink(
  thing: LinkedThing,
  { seals, publicUrl, seconds, caller, holder, team, client, now }: LinkMaker,
): Promise<Link> {
  const ticket = { ...thing, holder, client, ...(team !== undefined && { team }) };
  const expiresAt = now() + seconds * 1000;
  const sealed = await seals.seal("download", caller, ticket, seconds);
  if (sealed.length > MAX_CHARS) throw tooLong();
  return {
    url: `${publicUrl.replace(/\/$/, "")}${DOWNLOADS_PATH}${sealed}`,
    expiresAt: `${new Date(expiresAt).toISOString().slice(0, 19)}Z`,
  };
}
