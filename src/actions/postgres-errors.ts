// What the errors of PostgreSQL, of its driver and of sockets say: whether a connection is of use still, and whether a statement may have run.
import { errorCode, reasonOf } from "../failure.ts";

/** Shut down, crashed, starting; refuses writes, since it is a standby (by now). */
const GONE = new Set(["57P01", "57P02", "57P03", "25006"]);
/** Class 08: the connection itself. */
const CONNECTION = /^08/;
const SOCKET = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);
const DRIVER = /Connection terminated|Client has encountered a connection error|Query read timeout|timeout expired/;

/** A server that is a standby, or an old primary that came back. */
export class NoPrimary extends Error {
  override readonly name = "NoPrimary";
}

/** The connection is of no use any more, nor are others to the same server. */
export function isBroken(error: unknown): boolean {
  if (error instanceof NoPrimary) return true;
  if (error instanceof AggregateError) return error.errors.some(isBroken);
  const code = errorCode(error);
  return GONE.has(code) || CONNECTION.test(code) || SOCKET.has(code) || DRIVER.test(reasonOf(error));
}

/** The statement was refused before it did anything. */
export const isRefused = (error: unknown): boolean => ["25006", "57P03"].includes(errorCode(error));

/** No more connections now. */
export const isFull = (error: unknown): boolean => errorCode(error) === "53300";

/** A table has a column more than when the statement was prepared. It has not run. */
export const isOutdatedPlan = (error: unknown): boolean =>
  errorCode(error) === "0A000" && /cached plan/.test(reasonOf(error));
