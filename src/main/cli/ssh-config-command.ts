import type { Command } from 'commander'
import { Fault } from '../../ipc/faults.ts'
import type { CommandContext, Runner } from './context.ts'
import { invalid } from './outcome.ts'
import { wayOf } from './ssh-command.ts'
import { removeSshConfig, sshConfigFiles, writeSshConfig } from './ssh-config-file.ts'
import { sshConfigText } from './ssh-options.ts'

/** Of OpenSSH: the first in which names of files of known hosts have tokens. */
const OLDEST = [8, 4] as const

interface Options {
  write?: boolean
  remove?: boolean
}

export function sshConfigCommand(root: Command, run: Runner): void {
  run(
    root
      .command('ssh-config')
      .description('what makes "ssh web.eitri" log in to the VM web, with scp, rsync and all else that runs ssh')
      .option('--write', 'put it into a file of its own, and one line into ~/.ssh/config')
      .option('--remove', 'take both away again'),
    async (context, { write = false, remove = false }: Options) => {
      if (write && remove) throw invalid('--remove', '', 'not together with --write')
      const text = sshConfigText(wayOf(context))
      if (!write && !remove) return context.json ? context.document({ config: text }) : context.say(text)
      const { dir } = context.ssh
      if (write) await requireNewEnough(context)
      const changed = write ? await writeSshConfig(dir, text) : await removeSshConfig(dir)
      const { own, including } = sshConfigFiles(dir)
      if (context.json) return context.document({ config_file: own, included_from: including, changed })
      const done = write ? `${own} is included from ${including}.` : `Nothing of it is left in ${including}.`
      await context.say(`${changed ? '' : 'As it was: '}${done}\n`)
    },
  )
}

async function requireNewEnough({ ssh }: CommandContext): Promise<void> {
  const said = await ssh.version()
  const [, major, minor] = /OpenSSH_(?:for_Windows_)?(\d+)\.(\d+)/.exec(said) ?? []
  const version = [Number(major), Number(minor)] as const
  if (version[0] > OLDEST[0] || (version[0] === OLDEST[0] && version[1] >= OLDEST[1])) return
  const part = `OpenSSH ${OLDEST.join('.')} or newer (${said.trim().split('\n')[0]?.slice(0, 80) || 'no ssh was found'})`
  throw new Fault('app/part-missing', 'permanent', { part })
}
