// An answer that the service need not have written: a proxy, a gateway or a sign-in page in between may have. It proves nothing.
import * as z from "zod/v4";
import { reasonOf } from "../failure.ts";
import { parseJson } from "./decode.ts";
import type { WireAnswer } from "./transport.ts";

export const IN_BETWEEN =
  "Ask the user to check MIC_BASE_URL: something in between (a proxy, a sign-in page) may have answered instead of the service.";

export const HTML_PAGE = "an HTML page where JSON was expected";
const HTML_TYPE = /^(text\/html|application\/xhtml)/i;
const HTML_BODY = /^\s*(<!doctype html|<html|<head|<body)/i;

const isPage = ({ headers, body }: WireAnswer): boolean =>
  HTML_TYPE.test(headers["content-type"] ?? "") || HTML_BODY.test(body.toString("latin1", 0, 200));

/** Why a body is not JSON; undefined where it is JSON of any kind. */
export function notJson(answer: WireAnswer): string | undefined {
  try {
    parseJson(answer.body);
    return undefined;
  } catch (error) {
    return isPage(answer) ? HTML_PAGE : reasonOf(error);
  }
}

/** What every success of an action has (section 2.2); nobody else writes it by chance. */
const Envelope = z.object({ data: z.looseObject({}), meta: z.object({ requestId: z.string() }) });

export function isEnvelope({ body }: WireAnswer): boolean {
  try {
    return Envelope.safeParse(parseJson(body)).success;
  } catch {
    return false;
  }
}
