// Provides the bearer token that serve --http requires: MIC_HTTP_TOKEN, or a token in the state folder, which the first server creates.

import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isBearerToken } from "../../core/config.ts";
import { errorCode, type Failure, notConfigured } from "../../core/failure.ts";
import { readPrivateFile } from "../../core/private-file.ts";
import { ask, quoted, say, type Text } from "../../core/text.ts";

export interface HttpToken {
  readonly token: string;
  /** The file that contains the token, unless MIC_HTTP_TOKEN does. */
  readonly tokenFile?: string | undefined;
}

export const httpTokenFile = (stateDir: string): string => join(stateDir, "http-token");

const DELETE = say`${ask("Delete")} it, so that the server creates a new token`;
const SET_VARIABLE = say`or set MIC_HTTP_TOKEN to at least 16 characters.`;

const unusable = (path: string, reason: Text, fix: Text): Failure =>
  notConfigured(say`serve --http needs a bearer token, but ${quoted(path)} ${reason}.`, say`${fix}, ${SET_VARIABLE}`);

/** A token ends with a line break: without it, another server has created the file, but not written it yet. */
const READS = 40;
const MAX_BYTES = 8_192;
const READ_INTERVAL_MS = 50;

/** Reads the token. Throws Failure `not_configured` if the file cannot be used; the reason never contains the token. */
export async function readHttpToken(path: string): Promise<string> {
  for (let reads = 0; reads < READS; reads++) {
    if (reads > 0) await sleep(READ_INTERVAL_MS);
    const content = await readPrivateFile(path, MAX_BYTES);
    if (content === "not a file") throw unusable(path, say`is not a file`, say`${ask("Delete")} it`);
    if (content === "readable by others") throw unusable(path, say`can be read by other users`, DELETE);
    const text = content.toString("latin1");
    if (!text.endsWith("\n")) continue;
    const token = text.trimEnd();
    if (isBearerToken(token)) return token;
    break;
  }
  throw unusable(path, say`does not contain a token`, DELETE);
}

/** Creates the token if there is none. Servers that start at the same time get the same token. Throws Failure `not_configured`. */
export async function loadHttpToken(stateDir: string): Promise<HttpToken> {
  const tokenFile = httpTokenFile(stateDir);
  try {
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    const text = `${randomBytes(32).toString("base64url")}\n`;
    await writeFile(tokenFile, text, { flag: "wx", mode: 0o600, flush: true }).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
    return { token: await readHttpToken(tokenFile), tokenFile };
  } catch (error) {
    if (errorCode(error) === "") throw error;
    const reason = say`cannot be written (${errorCode(error)})`;
    throw unusable(tokenFile, reason, say`${ask("Make")} the state folder writable, set MIC_STATE_DIR to one that is`);
  }
}
