// Shows a shortened id, which is copied by a click. If the host does not allow that, the full id is shown instead, to be selected.
import { useState } from "preact/hooks";

const MAX_CHARS = 16;

/** Returns the first and last characters of an id, which distinguish two ids. */
const shortId = (id: string): string => (id.length <= MAX_CHARS ? id : `${id.slice(0, 10)}…${id.slice(-4)}`);

/** Rejects if this page has no access to the clipboard. */
const copy = async (text: string): Promise<void> => await navigator.clipboard.writeText(text);

export function CopyableId({ id }: { readonly id: string }) {
  const [state, setState] = useState<"short" | "copied" | "full">("short");
  if (state === "full") return <code>{id}</code>;
  return (
    <>
      <button
        type="button"
        class="id"
        title={`Copy ${id}`}
        onClick={() =>
          void copy(id).then(
            () => setState("copied"),
            () => setState("full"),
          )
        }
      >
        {shortId(id)}
      </button>
      <span class="muted copied" role="status">
        {state === "copied" ? " copied" : ""}
      </span>
    </>
  );
}
