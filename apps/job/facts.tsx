// Shows what the job is about: its recipe, when it started and how long it took.
import { useEffect, useState } from "preact/hooks";
import type { Bridge } from "../bridge.ts";
import { formatAge, formatDuration, formatTime } from "../host-context.ts";
import { fieldsOf, parseToolResult, textOf } from "../values.ts";
import { hasEnded, type JobShown } from "./model.ts";

/** Reads the name of the recipe once. Returns an empty text if it cannot be read. */
function useRecipeName(versionId: string, host: Bridge | undefined): string {
  const [name, setName] = useState("");
  const bridge = host?.can("serverTools") ? host : undefined;
  useEffect(() => {
    if (bridge === undefined || versionId === "") return;
    void bridge.callTool("get_recipe", { versionId }).then(
      (answer) => setName(textOf(fieldsOf(fieldsOf(parseToolResult(answer).structured["data"])["recipe"])["name"])),
      () => setName(""),
    );
  }, [versionId, bridge === undefined]);
  return name;
}

export function Facts({ job, host }: { readonly job: JobShown; readonly host: Bridge | undefined }) {
  const recipeName = useRecipeName(job.recipeVersionId, host);
  const durationMs = Date.parse(job.updatedAt) - Date.parse(job.createdAt);
  return (
    <p class="facts">
      {recipeName !== "" && <b>{recipeName}</b>}
      <span class="muted" title={formatTime(job.createdAt)}>
        Started {formatAge(job.createdAt)}
      </span>
      {hasEnded(job) && durationMs > 0 && <span class="muted">Took {formatDuration(durationMs)}</span>}
    </p>
  );
}
