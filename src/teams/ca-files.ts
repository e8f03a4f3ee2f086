// Checks the files of private CAs that a deployment names. Node only warns if it cannot read such a file, and every connection then fails.
import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode, errorMessage } from "../core/failure.ts";

export interface CaFile {
  readonly name: string;
  readonly path: string;
}

export function listCaFiles(environment: NodeJS.ProcessEnv, databaseUrls: readonly string[]): readonly CaFile[] {
  const extra = environment["NODE_EXTRA_CA_CERTS"] ?? "";
  const roots = databaseUrls.flatMap((url) => new URL(url).searchParams.get("sslrootcert") ?? []);
  return [
    ...(extra === "" ? [] : [{ name: "NODE_EXTRA_CA_CERTS", path: extra }]),
    ...[...new Set(roots)].map((path) => ({ name: "sslrootcert in MIC_DATABASE_URL", path })),
  ];
}

/** Returns a sentence if this process cannot read the file. */
export function findReadError({ name, path }: CaFile): string | undefined {
  try {
    accessSync(path, constants.R_OK);
    return undefined;
  } catch (error) {
    return `${name}: the file ${JSON.stringify(path)} cannot be read (${errorCode(error) || errorMessage(error)}). Put it into /etc/ssl/mic-mcp, with mode 0644.`;
  }
}

const OTHERS_READ = 0o004;
const OTHERS_SEARCH = 0o001;

export function isReadableByAll(path: string): boolean {
  if ((statSync(path).mode & OTHERS_READ) === 0) return false;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & OTHERS_SEARCH) === 0) return false;
    if (dirname(folder) === folder) return true;
  }
}
