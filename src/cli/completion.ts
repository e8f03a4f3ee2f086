// `mic-mcp completion SHELL`: the script with which a shell completes commands, flags, tools and their arguments.
import { parseArgs } from "node:util";
import { tools } from "../../tools/index.ts";
import { UsageError } from "../core/config.ts";
import { COMMANDS, type Command, SHELLS, TEAM_ACTIONS } from "./commands.ts";
import { didYouMean } from "./errors.ts";
import { argumentsOf, enumValuesOf } from "./tool-arguments.ts";

interface Word {
  readonly text: string;
  readonly about?: string;
}

/** A pattern of COMMAND/FIRST/PREVIOUS (FIRST follows the command, PREVIOUS is before the cursor) and the words that may follow. */
type Row = readonly [pattern: string, words: readonly Word[]];

const plain = (text: string): Word => ({ text });

const TAKES: Readonly<Record<string, readonly Word[]>> = {
  call: tools.filter(({ view }) => view === undefined).map(({ name, title }) => ({ text: name, about: title })),
  completion: SHELLS.map(plain),
  teams: TEAM_ACTIONS.map(plain),
};

/** The first pattern that matches decides. */
function completionRows(): readonly Row[] {
  const commands: readonly Command[] = Object.values(COMMANDS);
  const names = commands.map(({ name, does }) => ({ text: name, about: does }));
  const flagsOf = ({ flags }: Command): readonly Word[] => [
    ...Object.entries(flags).map(([flag, { about }]) => ({ text: `--${flag}`, about })),
    plain("--help"),
  ];
  const valuesOf = ({ name, flags }: Command): readonly Row[] =>
    Object.entries(flags).flatMap(([flag, { type, oneOf = [] }]) =>
      type === "string" ? [[`${name}/*/--${flag}`, oneOf.map(plain)]] : [],
    );
  const pairsOf = ([argument, schema]: ReturnType<typeof argumentsOf>[number]): readonly Word[] => {
    const values = enumValuesOf(schema);
    return values.length === 0 ? [plain(`${argument}=`)] : values.map((value) => plain(`${argument}=${value}`));
  };
  return [
    ["//*", [...names, ...["help", "version", "--help", "--version"].map(plain)]],
    ["help/*", names],
    ...commands.flatMap(valuesOf),
    ...tools.map(({ name, inputSchema }): Row => {
      return [`call/${name}/*`, [...argumentsOf(inputSchema()).flatMap(pairsOf), ...flagsOf(COMMANDS.call)]];
    }),
    ...commands.map((command): Row => [`${command.name}/*`, [...(TAKES[command.name] ?? []), ...flagsOf(command)]]),
  ];
}

/** Prints one word on each line. */
const printed = (words: readonly string[]): string =>
  words.length === 0 ? "true" : `printf '%s\\n' ${words.join(" ")}`;

const joined = (rows: readonly Row[], write: (pattern: string, words: readonly Word[]) => string): string =>
  rows.map(([pattern, words]) => write(pattern, words)).join("\n");

const posixTable = (rows: readonly Row[]): string => `_mic_mcp_words() {
  case "$1/$2/$3" in
${joined(rows, (pattern, words) => `    ${pattern}) ${printed(words.map(({ text }) => text))} ;;`)}
  esac
}`;

const fishWord = ({ text, about }: Word): string =>
  `'${(about === undefined ? text : `${text}\t${about}`).replace(/[\\']/g, "\\$&")}'`;

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (rows: readonly Row[]) => string>> = {
  bash: (rows) => `# mic-mcp completion for bash
${posixTable(rows)}

_mic_mcp() {
  local line="\${COMP_LINE:0:COMP_POINT}" current prefix
  local -a before
  current="\${line##* }"
  read -ra before <<< "\${line%"$current"}"
  local count=\${#before[@]} command="" first=""
  ((count > 1)) && command="\${before[1]}"
  ((count > 2)) && first="\${before[2]}"
  # bash ends a word at = and :
  prefix="\${current%"\${current##*[=:]}"}"
  COMPREPLY=($(compgen -W "$(_mic_mcp_words "$command" "$first" "\${before[count - 1]}")" -- "$current"))
  COMPREPLY=("\${COMPREPLY[@]#"$prefix"}")
  [[ \${#COMPREPLY[@]} -eq 1 && "\${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2> /dev/null
  return 0
}

complete -o default -F _mic_mcp mic-mcp`,

  zsh: (rows) => `#compdef mic-mcp
# mic-mcp completion for zsh
${posixTable(rows)}

_mic_mcp() {
  local command="" first=""
  ((CURRENT > 2)) && command="\${words[2]}"
  ((CURRENT > 3)) && first="\${words[3]}"
  local -a candidates
  candidates=(\${(f)"$(_mic_mcp_words "$command" "$first" "\${words[CURRENT - 1]}")"})
  compadd -S '' -- \${(M)candidates:#*=}
  compadd -- \${candidates:#*=}
}

if [[ "\${funcstack[1]}" == _mic_mcp ]]; then _mic_mcp "$@"; else compdef _mic_mcp mic-mcp; fi`,

  fish: (rows) => `# mic-mcp completion for fish
function __mic_mcp_words
  set -l before (commandline -opc)
  switch "$before[2]/$before[3]/$before[-1]"
${joined(rows, (pattern, words) => `    case '${pattern}'\n      ${printed(words.map(fishWord))}`)}
  end
end

complete -c mic-mcp -f -a '(__mic_mcp_words)'`,

  powershell: (rows) => `# mic-mcp completion for PowerShell
Register-ArgumentCompleter -Native -CommandName mic-mcp -ScriptBlock {
  param($word, $line, $cursor)
  Set-StrictMode -Off
  $before = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() })
  $words = switch -Wildcard ("$($before[1])/$($before[2])/$($before[-1])") {
${joined(rows, (pattern, words) => `    '${pattern}' { ${words.map(({ text }) => `'${text}'`).join(", ")}; break }`)}
  }
  $words | Where-Object { $_ -like "$word*" } | Sort-Object | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}`,
};

/** Throws UsageError. */
export async function completion(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], options: COMMANDS.completion.flags, allowPositionals: true });
  const [named = "", ...more] = positionals;
  const shell = SHELLS.find((each) => each === named);
  if (shell === undefined || more.length > 0)
    throw new UsageError(`mic-mcp completion takes one of ${SHELLS.join(", ")}.${didYouMean(named, SHELLS)}`);
  process.stdout.write(`${SCRIPTS[shell](completionRows())}\n`);
  return 0;
}
