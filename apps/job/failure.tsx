// Shows why the job failed, in the API's words, with the error of each field.
import type { FailureShown } from "./model.ts";

export function Failure({ failure: { code, title, retryable, fieldErrors } }: { readonly failure: FailureShown }) {
  return (
    <section aria-label="Failure">
      <h2 class="bad">{title === "" ? code : title}</h2>
      <p>
        <code>{code}</code>
        <span class="muted">{retryable ? ", a retry can help" : ", a retry would fail again"}</span>
      </p>
      {fieldErrors.length > 0 && (
        <table class="errors">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Error</th>
            </tr>
          </thead>
          <tbody>
            {fieldErrors.map(({ pointer, code: kind, message }) => (
              <tr key={`${pointer} ${kind}`}>
                <td>
                  <code>{pointer === "" ? "all fields" : pointer}</code>
                </td>
                <td>
                  {message} <code class="muted">{kind}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
