import { Argument, type Command } from 'commander'
import type { FleetClient } from '../fleet-client.ts'
import type { CommandContext, Runner } from './context.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]
/** A shell that waits for a completion is a shell that hangs. */
const ASK_MS = 1_500
const MAX_WORDS = 500

export function completionCommand(root: Command, run: Runner): void {
  run(
    root
      .command('completion')
      .addArgument(new Argument('<shell>', 'whose').choices(SHELLS))
      .description('the completion script of a shell, e.g. source <(eitri completion bash)'),
    async (context, shell: Shell) => context.say(SCRIPTS[shell]),
  )
  run(root.command('complete', { hidden: true }).argument('[words...]'), async (context, words: string[]) => {
    context.deadline(ASK_MS)
    const found = await candidates(root, words, () => names(context, root, words))
    await context.say(found.map((word) => `${word}\n`).join(''))
  })
}

/** What can stand in the place of the last word; names of the fleet where a command takes one. */
export async function candidates(root: Command, words: readonly string[], named: () => Promise<string[]>) {
  const last = words.at(-1) ?? ''
  const { command } = walked(root, words.slice(0, -1))
  const before = words.at(-2) ?? ''
  const known = [...new Set([command, root])].flatMap((c) => c.options)
  const option = known.find(({ long, short }) => before !== '' && (long === before || short === before))
  if (option && (option.required || option.optional)) {
    const values =
      option.argChoices ?? (/^(host|vm|image|ca|template)$/.test(option.attributeName()) ? await named() : [])
    return values.filter((word) => word.startsWith(last))
  }
  const options = known.flatMap(({ long }) => long ?? [])
  const commands = command.commands.filter((c) => !isHidden(c)).map((c) => c.name())
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
  const all = last.startsWith('-')
    ? options
    : [...commands, ...choices, ...(commands.length === 0 && choices.length === 0 ? await named() : [])]
  return all.filter((word) => word.startsWith(last)).slice(0, MAX_WORDS)
}

const isHidden = (command: Command) => (command as unknown as { _hidden?: boolean })._hidden === true

/** The deepest command the words lead to, and its path. */
function walked(root: Command, words: readonly string[]): { command: Command; path: string[] } {
  let command = root
  const path: string[] = []
  for (const word of words) {
    const next = command.commands.find((c) => c.name() === word)
    if (!next) continue
    command = next
    path.push(word)
  }
  return { command, path }
}

/** Names a command of this noun takes. With no control plane there are none, and nobody is told. */
async function names(context: CommandContext, root: Command, words: readonly string[]): Promise<string[]> {
  const noun = nounOf(walked(root, words.slice(0, -1)).path, words.at(-2) ?? '')
  if (noun === undefined) return []
  try {
    const { signal } = context
    return await LISTS[noun](await context.fleet(), signal)
  } catch {
    return []
  }
}

type Listed = 'host' | 'vm' | 'image'
const LISTS: Record<Listed, (fleet: FleetClient, signal: AbortSignal) => Promise<string[]>> = {
  host: async (fleet, signal) => (await fleet.hosts.listHosts({}, { signal })).hosts.map(({ name }) => name),
  vm: async (fleet, signal) => (await fleet.vms.listVms({}, { signal })).vms.map(({ name }) => name),
  image: async (fleet, signal) => (await fleet.images.listImages({}, { signal })).images.map(({ name }) => name),
}
const OF_VMS = new Set(['vm', 'console', 'ssh', 'connect', 'clock', 'port', 'cert'])

function nounOf([first = '']: readonly string[], before: string): Listed | undefined {
  const option = /^--(host|vm|image)$/.exec(before)?.[1]
  if (option) return option as Listed
  if (first === 'host' || first === 'network') return 'host'
  if (first === 'image') return 'image'
  return OF_VMS.has(first) ? 'vm' : undefined
}

const SCRIPTS: Record<Shell, string> = {
  bash: `_eitri() {
  local IFS=$'\\n'
  COMPREPLY=($(eitri complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _eitri eitri
`,
  zsh: `#compdef eitri
_eitri() {
  local -a found
  found=("\${(@f)$(eitri complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- \${found:#}
}
compdef _eitri eitri
`,
  fish: `complete -c eitri -f -a '(eitri complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}
