import { Fault } from '../../ipc/faults.ts'
import type { ServeOptions } from '../cli/context.ts'
import type { CliIo } from '../cli/io.ts'
import { askLine, interactive } from '../cli/prompts.ts'
import { caPassphraseState, withPassphraseOfEnv } from '../control/node-ports.ts'
import type { Ports } from '../control/ports.ts'
import { shellKeychain } from './shell-keychain.ts'

/** Undefined = go on without. `new` = it is to seal keys that none seals yet. */
export type AskPassphrase = (asked: 'existing' | 'new' | 'again') => Promise<string | undefined>

const TRIES = 3

/** A person at a terminal is asked for what seals CA keys, and for a new passphrase where that was wished; nobody else is. */
export function askingFor(options: ServeOptions, io: CliIo, signal: AbortSignal): AskPassphrase {
  const ask = async (question: string) => (await askLine(io, question, signal, true)) || undefined
  return async (asked) => {
    if (!interactive(io)) {
      if (asked === 'new' && options.caPassphrase) throw needsTerminal()
      return undefined
    }
    if (asked === 'existing') return await ask('Passphrase of the CA keys (empty = go on without them):')
    if (asked === 'again') return await ask('That does not open them. Passphrase (empty = go on without them):')
    if (!options.caPassphrase) return undefined
    const first = await ask('New passphrase for the CA keys:')
    if (first === undefined || (await ask('Once more:')) === first) return first
    throw new Fault('input/invalid', 'permanent', { field: 'passphrase', problem: 'the two are not the same' })
  }
}

/** The ports with what a person typed for CA keys, and with the keychain of the shell that forked this process. */
export async function withCaPassphrase(ports: Ports, ask: AskPassphrase): Promise<Ports> {
  const keychain = shellKeychain()
  const here = await withPassphraseOfEnv({ ...ports, ...(keychain ? { keychain } : {}) })
  let state = await caPassphraseState(here)
  if (state === 'none') return given(here, await ask('new'))
  for (let left = TRIES; state === 'wanted' || state === 'wrong'; left--) {
    const typed = left === 0 ? undefined : await ask(state === 'wanted' ? 'existing' : 'again')
    if (typed === undefined) return here
    const tried = given(here, typed)
    state = await caPassphraseState(tried)
    if (state === 'opens') return tried
  }
  return here
}

const given = (ports: Ports, typed: string | undefined): Ports =>
  typed === undefined ? ports : { ...ports, caPassphrase: typed }

const needsTerminal = (): Fault =>
  new Fault('input/invalid', 'permanent', {
    field: 'ca_passphrase',
    problem: 'nobody is here to be asked; name a file in EITRI_CA_PASSPHRASE_FILE instead',
  })
