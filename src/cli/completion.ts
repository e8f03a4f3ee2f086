// Implements `mic-mcp completion SHELL`, which prints a shell script that completes commands, flags, tools and tool arguments.
import { tools } from "../../tools/index.ts";
import { readConfig } from "../core/config.ts";
import { VIEW_NAMES } from "../toolkit/views.ts";
import { COMMANDS, commands, flagsOf, INSTALL_CLIENTS, type RunCommand, SHELLS, teamSubcommands } from "./commands.ts";
import { parseChoice } from "./errors.ts";
import { readRecentJobs } from "./journal.ts";
import { enumValuesOf, listArguments, mainArgumentOf } from "./tool-arguments.ts";

interface CompletionWord {
  readonly text: string;
  readonly about?: string;
}

/** Words that may follow COMMAND/FIRST/PREVIOUS (PREVIOUS is before the cursor). With `jobs`, recent job ids may follow, too. */
type CompletionRule = readonly [pattern: string, words: readonly CompletionWord[], jobs?: "jobs"];

/** Prints recent job ids while a user completes a word. */
const JOBS_COMMAND = "mic-mcp completion --jobs";

const toWord = (text: string): CompletionWord => ({ text });

const POSITIONAL_WORDS: Readonly<Record<string, readonly CompletionWord[]>> = {
  call: tools.filter(({ view }) => view === undefined).map(({ name, title }) => ({ text: name, about: title })),
  completion: SHELLS.map(toWord),
  install: INSTALL_CLIENTS.map(toWord),
  uninstall: INSTALL_CLIENTS.map(toWord),
  show: VIEW_NAMES.map(toWord),
  teams: teamSubcommands.map(toWord),
};

/** Returns the rules in order of precedence: the first pattern that matches applies. */
function createCompletionRules(): readonly CompletionRule[] {
  const names = commands.map(({ name, summary }) => ({ text: name, about: summary }));
  const flagWords = (command: Parameters<typeof flagsOf>[0]): readonly CompletionWord[] => [
    ...flagsOf(command).map(({ name, about }) => ({ text: `--${name}`, about })),
    toWord("--help"),
  ];
  const flagValueRules = (command: (typeof commands)[number]): readonly CompletionRule[] =>
    flagsOf(command).flatMap(({ name, type }) =>
      type === "string" ? [[`${command.name}/*/--${name}`, (command.choices?.[name] ?? []).map(toWord)]] : [],
    );
  const argumentWords = ([argument, schema]: ReturnType<typeof listArguments>[number]): readonly CompletionWord[] => {
    const values = enumValuesOf(schema);
    return values.length === 0 ? [toWord(`${argument}=`)] : values.map((value) => toWord(`${argument}=${value}`));
  };
  return [
    ["//*", [...names, ...["help", "version", "--help", "--version"].map(toWord)]],
    ["help/*", names],
    ...commands.flatMap(flagValueRules),
    ["watch//watch", flagWords(COMMANDS.watch), "jobs"],
    ["show/job/job", flagWords(COMMANDS.show), "jobs"],
    ...tools.flatMap(({ name, inputSchema }): readonly CompletionRule[] => {
      const schema = inputSchema();
      const words = [...listArguments(schema).flatMap(argumentWords), ...flagWords(COMMANDS.call)];
      const takesJob = ["jobId", "jobIds"].includes(mainArgumentOf(schema) ?? "");
      return [...(takesJob ? [[`call/${name}/${name}`, words, "jobs"] as const] : []), [`call/${name}/*`, words]];
    }),
    ...commands.map(
      (command): CompletionRule => [
        `${command.name}/*`,
        [...(POSITIONAL_WORDS[command.name] ?? []), ...flagWords(command)],
      ],
    ),
  ];
}

const formatPrintCommand = (words: readonly string[], jobs: CompletionRule[2]): string =>
  [
    words.length === 0 ? "true" : `printf '%s\\n' ${words.join(" ")}`,
    ...(jobs ? [`${JOBS_COMMAND} 2> /dev/null`] : []),
  ].join("; ");

const joinRules = (rows: readonly CompletionRule[], write: (...rule: CompletionRule) => string): string =>
  rows.map((rule) => write(...rule)).join("\n");

const formatPosixFunction = (rows: readonly CompletionRule[]): string => `_mic_mcp_words() {
  case "$1/$2/$3" in
${joinRules(
  rows,
  (pattern, words, jobs) =>
    `    ${pattern}) ${formatPrintCommand(
      words.map(({ text }) => text),
      jobs,
    )} ;;`,
)}
  esac
}`;

const formatFishWord = ({ text, about }: CompletionWord): string =>
  `'${(about === undefined ? text : `${text}\t${about}`).replace(/[\\']/g, "\\$&")}'`;

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (rows: readonly CompletionRule[]) => string>> = {
  bash: (rows) => `# mic-mcp completion for bash
${formatPosixFunction(rows)}

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
${formatPosixFunction(rows)}

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
${joinRules(rows, (pattern, words, jobs) => `    case '${pattern}'\n      ${formatPrintCommand(words.map(formatFishWord), jobs)}`)}
  end
end

complete -c mic-mcp -f -a '(__mic_mcp_words)'`,

  powershell: (rows) => `# mic-mcp completion for PowerShell
Register-ArgumentCompleter -Native -CommandName mic-mcp -ScriptBlock {
  param($word, $line, $cursor)
  Set-StrictMode -Off
  $before = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() })
  $words = switch -Wildcard ("$($before[1])/$($before[2])/$($before[-1])") {
${joinRules(rows, (pattern, words, jobs) => `    '${pattern}' { ${words.map(({ text }) => `'${text}'`).join(", ")}${jobs ? `; ${JOBS_COMMAND} 2> $null` : ""}; break }`)}
  }
  $words | Where-Object { $_ -like "$word*" } | Sort-Object | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}`,
};

/** Shells expand the words that they complete, so an id with other characters could run a command. */
const isSafeWord = (id: string): boolean => /^[\w.:-]+$/.test(id);

export const completion: RunCommand<"completion"> = async ({ values, positionals }, environment) => {
  if (values.jobs) {
    for (const id of (await readRecentJobs(readConfig(environment))).filter(isSafeWord))
      process.stdout.write(`${id}\n`);
    return 0;
  }
  const shell = parseChoice("SHELL", positionals.join(" "), SHELLS);
  process.stdout.write(`${SCRIPTS[shell](createCompletionRules())}\n`);
  return 0;
};
