// Exports the rows as CSV: as a file if the page has no host or the host supports files, otherwise through the clipboard.
import { useState } from "preact/hooks";
import type { Bridge } from "../bridge.ts";
import { reasonOf } from "../values.ts";

/** Used on a page without a host, because no host blocks downloads there. */
function download(csv: string, file: string): string {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
  link.download = file;
  link.click();
  URL.revokeObjectURL(link.href);
  return `Saved as ${file}.`;
}

async function exportCsv(csv: string, file: string, host: Bridge | undefined): Promise<string> {
  if (host === undefined) return download(csv, file);
  try {
    if (host.can("downloadFile")) {
      await host.download(file, "text/csv", csv);
      return "Handed to the host as a file.";
    }
    await navigator.clipboard.writeText(csv);
    return "Copied as CSV.";
  } catch (error) {
    return `This host lets nothing out of the frame (${reasonOf(error)}): ask the agent for it, saveAs of rank_divisions makes a file.`;
  }
}

interface Props {
  readonly csv: () => string;
  readonly file: string;
  readonly host: Bridge | undefined;
}

export function ExportButton({ csv, file, host }: Props) {
  const [statusText, setStatusText] = useState("");
  return (
    <>
      <button type="button" onClick={() => void exportCsv(csv(), file, host).then(setStatusText)}>
        Export CSV
      </button>
      <span class="status" role="status">
        {statusText}
      </span>
    </>
  );
}
