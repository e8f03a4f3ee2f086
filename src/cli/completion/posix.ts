// Completion for bash and zsh. Both read the same table of words; each asks it in its own way.
import type { Words } from "./words.ts";

const print = (words: readonly string[]): string => (words.length === 0 ? ":" : `printf '%s\\n' ${words.join(" ")}`);

/** `_mic_mcp_words COMMAND FIRST PREVIOUS`: what may stand next. FIRST stands behind the command, PREVIOUS before the cursor. */
function tableOf({ commands, tools }: Words): string {
  const names = commands.map(({ text }) => text);
  const flagsOf = (name: string): readonly string[] =>
    commands.find(({ text }) => text === name)?.flags.map(({ text }) => text) ?? [];
  const rows: (readonly [pattern: string, words: readonly string[]])[] = [
    ["//*", [...names, "help", "version", "--help", "--version"]],
    ["help/*", names],
    ...commands.flatMap(({ text, flags }) =>
      flags.flatMap((flag) => (flag.values ? [[`${text}/*/${flag.text}`, flag.values] as const] : [])),
    ),
    ...tools.map(({ text, args }) => [`call/${text}/*`, [...args, ...flagsOf("call"), "--help"]] as const),
    ...commands.map(
      ({ text, flags, takes }) =>
        [`${text}/*`, [...takes.map((word) => word.text), ...flags.map((flag) => flag.text), "--help"]] as const,
    ),
  ];
  const cases = rows.map(([pattern, each]) => `    ${pattern}) ${print(each)} ;;`);
  return `_mic_mcp_words() {\n  case "$1/$2/$3" in\n${cases.join("\n")}\n  esac\n}`;
}

export const bash = (words: Words): string => `# mic-mcp completion for bash
${tableOf(words)}

_mic_mcp() {
  local line="\${COMP_LINE:0:COMP_POINT}" current prefix
  local -a before
  current="\${line##* }"
  read -ra before <<< "\${line%"$current"}"
  local count=\${#before[@]} command="" first=""
  ((count > 1)) && command="\${before[1]}"
  ((count > 2)) && first="\${before[2]}"
  # bash takes = and : for the end of a word.
  prefix="\${current%"\${current##*[=:]}"}"
  COMPREPLY=($(compgen -W "$(_mic_mcp_words "$command" "$first" "\${before[count - 1]}")" -- "$current"))
  COMPREPLY=("\${COMPREPLY[@]#"$prefix"}")
  [[ \${#COMPREPLY[@]} -eq 1 && "\${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2> /dev/null
  return 0
}

complete -o default -F _mic_mcp mic-mcp`;

export const zsh = (words: Words): string => `#compdef mic-mcp
# mic-mcp completion for zsh
${tableOf(words)}

_mic_mcp() {
  local command="" first=""
  ((CURRENT > 2)) && command="\${words[2]}"
  ((CURRENT > 3)) && first="\${words[3]}"
  local -a candidates
  candidates=(\${(f)"$(_mic_mcp_words "$command" "$first" "\${words[CURRENT - 1]}")"})
  compadd -S '' -- \${(M)candidates:#*=}
  compadd -- \${candidates:#*=}
}

if [[ "\${funcstack[1]}" == _mic_mcp ]]; then _mic_mcp "$@"; else compdef _mic_mcp mic-mcp; fi`;
