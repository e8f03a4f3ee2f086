// Completion for PowerShell, on every system that it runs on.
import type { Words } from "./words.ts";

const list = (words: readonly string[]): string => `@(${words.map((word) => `'${word}'`).join(", ")})`;

const table = (rows: readonly (readonly [name: string, words: readonly string[]])[]): string =>
  `@{\n${rows.map(([name, words]) => `    '${name}' = ${list(words)}`).join("\n")}\n  }`;

export function powershell({ commands, tools }: Words): string {
  const flags = commands.map(
    ({ text, flags: all, takes }) =>
      [text, [...takes.map((word) => word.text), ...all.map((flag) => flag.text), "--help"]] as const,
  );
  const values = commands.flatMap(({ text, flags: all }) =>
    all.flatMap((flag) => (flag.values ? [[`${text} ${flag.text}`, flag.values] as const] : [])),
  );
  return `# mic-mcp completion for PowerShell
Register-ArgumentCompleter -Native -CommandName mic-mcp -ScriptBlock {
  param($word, $line, $cursor)
  $commands = ${table(flags)}
  $values = ${table(values)}
  $arguments = ${table(tools.map(({ text, args }) => [text, args] as const))}
  $before = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() })
  $command = if ($before.Count -gt 1) { $before[1] } else { '' }
  $pair = "$command $($before[-1])"
  $words = if ($command -eq '' -or $command -eq 'help') { $commands.Keys }
    elseif ($values.ContainsKey($pair)) { $values[$pair] }
    elseif ($command -eq 'call' -and $before.Count -gt 2 -and $arguments.ContainsKey($before[2])) { $arguments[$before[2]] }
    else { $commands[$command] }
  $words | Where-Object { $_ -like "$word*" } | Sort-Object | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}`;
}
