// Lists the packages that the build includes in the program. Their licenses must accompany the code, and a search for vulnerable
// packages must be able to find them.
import { readFile } from "node:fs/promises";

interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
}

/** The Unlicense requires no notice, so a package under it may contain none. */
const UNLICENSE = "This is free and unencumbered software released into the public domain: https://unlicense.org/\n";

const LICENCE_FILES = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license", "LICENCE"];

async function readPackage(folder: string): Promise<BundledPackage> {
  const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
  const found = LICENCE_FILES.map((file) => readFile(`${folder}/${file}`, "utf8").catch(() => undefined));
  // Some packages have their license only in their README.
  const readme = await readFile(`${folder}/README.md`, "utf8").catch(() => "");
  const text = [...(await Promise.all(found)), /^## license\s+(.*)/ims.exec(readme)?.[1]].find((content) => content);
  const fallbackText = license === "Unlicense" ? UNLICENSE : "No license file in the package.\n";
  return { name, version, license, text: text ?? fallbackText };
}

/** Reads the packages of the bundled files, sorted by folder. `inputs`: paths of the files in the bundles. */
export async function readBundledPackages(inputs: readonly string[]): Promise<readonly BundledPackage[]> {
  const folders = new Set(inputs.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
  return await Promise.all([...folders].sort().map(readPackage));
}

/** The lines that differ between copies of one license: its title, and the notices of copyright, which must stay. */
const TITLE = /^\(?(?:The )?MIT License\)?(?: \(MIT\))?\s*$/m;
const NOTICE = /^Copyright .*$/gm;

/** One text for each license, below the packages that have it with their notices. */
function formatByText(packages: readonly BundledPackage[]): readonly string[] {
  const groups = new Map<string, { readonly heads: string[]; readonly body: string }>();
  for (const { name, version, license, text } of packages) {
    const body = text.replace(TITLE, "").replace(NOTICE, "").trim();
    const key = body.toLowerCase().replace(/[^a-z0-9]+/g, " ");
    const group = groups.get(key) ?? { heads: [], body };
    const notices = (text.match(NOTICE) ?? []).map((notice) => `\n  ${notice.trim()}`);
    group.heads.push(`${name} ${version} (${license})${notices.join("")}`);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ heads, body }) => `${heads.join("\n")}\n\n${body}\n`);
}

/** The catalog of the emulator, and the facts from Wikipedia, under their licenses. */
const DATA_NOTICE = `Data

The emulator contains data of the Local Government Directory (LGD), Ministry of Panchayati Raj, Government of India,
https://lgdirectory.gov.in/, Government Open Data License - India.

The tables of the names of districts and states contain facts from these sources. The articles of Wikipedia are under CC BY-SA 4.0,
https://creativecommons.org/licenses/by-sa/4.0/.
`;

/** `sources`: the table of the data sources (src/geography/names/record/sources.tsv). */
export const formatLicenses = (packages: readonly BundledPackage[], sources: string): string => {
  const [, ...rows] = sources.trim().split("\n");
  const lines = rows.map((row) => {
    const [id, title, publisher, year, address] = row.split("\t");
    return `${id}: ${title}. ${publisher}, ${year}. ${address}\n`;
  });
  return [...formatByText(packages), `${DATA_NOTICE}\n${lines.join("")}`].join(`\n${"-".repeat(80)}\n\n`);
};

interface Product {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const toPurl = (name: string, version: string): string => `pkg:npm/${name.replace("@", "%40")}@${version}`;

/**
 * Creates a bill of materials in CycloneDX 1.6: the bundled packages, and the native addons that npm installs with the program.
 */
export function createBillOfMaterials(product: Product, packages: readonly BundledPackage[]): string {
  const self = { type: "application", "bom-ref": toPurl(product.name, product.version), name: product.name };
  const bundledComponents = packages.map(({ name, version, license }) => ({
    type: "library",
    "bom-ref": toPurl(name, version),
    name,
    version,
    scope: "required",
    licenses: [{ license: { id: license } }],
    purl: toPurl(name, version),
  }));
  const optionalComponents = Object.entries(product.optionalDependencies).map(([name, version]) => ({
    type: "library",
    "bom-ref": toPurl(name, version),
    name,
    version,
    scope: "optional",
    purl: toPurl(name, version),
  }));
  const components = [...bundledComponents, ...optionalComponents];
  const bom = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { ...self, version: product.version, licenses: [{ license: { id: product.license } }] } },
    components,
    dependencies: [
      { ref: self["bom-ref"], dependsOn: components.map((component) => component["bom-ref"]) },
      ...components.map((component) => ({ ref: component["bom-ref"] })),
    ],
  };
  return `${JSON.stringify(bom, null, 1)}\n`;
}
