import { Command, Option } from 'commander'
import { describe, expect, it } from 'vitest'
import { candidates } from '../../../../src/main/cli/completion-command.ts'

function aProgram() {
  const root = new Command('eitri').option('--json').option('--tenant <name>')
  const vm = root.command('vm')
  vm.command('create <name>')
    .option('--host <name>')
    .addOption(new Option('--power <p>').choices(['running', 'stopped']))
  vm.command('start <name>')
  root.command('complete', { hidden: true })
  return root
}
const complete = (...words: string[]) => candidates(aProgram(), words, async () => ['web', 'db'])

describe('completion', () => {
  it('begins with the commands, hidden ones left out', async () => {
    expect(await complete('')).toEqual(['vm'])
    expect(await complete('v')).toEqual(['vm'])
    expect(await complete('x')).toEqual([])
  })

  it('goes on with subcommands, then with names of the fleet', async () => {
    expect(await complete('vm', '')).toEqual(['create', 'start'])
    expect(await complete('vm', 'st')).toEqual(['start'])
    expect(await complete('vm', 'start', 'w')).toEqual(['web'])
  })

  it('offers the options of the command and those of every command', async () => {
    expect(await complete('vm', 'create', 'web', '--')).toEqual(['--host', '--power', '--json', '--tenant'])
    expect(await complete('vm', 'create', '--ho')).toEqual(['--host'])
  })

  it("offers an option's own values, and names where it takes one", async () => {
    expect(await complete('vm', 'create', 'web', '--power', '')).toEqual(['running', 'stopped'])
    expect(await complete('vm', 'create', 'web', '--host', '')).toEqual(['web', 'db'])
    expect(await complete('vm', 'start', '--tenant', '')).toEqual([])
  })
})
