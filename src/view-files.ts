// The views as the build makes them, one HTML file each: from here and from the bundle their folder is the same step away.
import { readFile } from "node:fs/promises";

const FOLDER = new URL("../dist/apps/", import.meta.url);

/** Read when first asked for, and every time: nothing is kept of what no client shows. */
export const readViewFile = (name: string): Promise<string> => readFile(new URL(`${name}.html`, FOLDER), "utf8");
