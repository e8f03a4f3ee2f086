// The time limit of a call, from which the maximum of `waitSeconds`, the advice that names it and the drain of a deployment follow.

/** A tool call ends within this time in seconds, retries included. Many clients give up after 60 s. */
export const CALL_LIMIT_SECONDS = 45;
