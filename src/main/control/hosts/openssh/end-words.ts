import { printable } from '../../../../ipc/fault-text.ts'
import { Fault } from '../../../../ipc/faults.ts'

/** Whose ssh it was. */
export interface EndOf {
  /** Name of the host, for faults. */
  host: string
  /** user@address:port as dialled. */
  address: string
  /** It was signed in. */
  ready: boolean
}

interface Words extends EndOf {
  lines: readonly string[]
  /** What a program on the way said, or ssh itself, before the lines that only follow from it. */
  telling: string
}

interface Rule {
  says: RegExp
  /** Undefined = the line means something else here. */
  fault(match: RegExpExecArray, words: Words): Fault | undefined
}

const DETAIL_CHARS = 200
const NOISE =
  /^(debug\d:|Warning: Permanently added|Authenticated to |Transferred: sent|Bytes per second|@+$|@ |\*\* |Agent pid)/
/** ssh says these of anything that ends before it is signed in; what came before says why. */
const FOLLOWS =
  /^(kex_exchange_identification:|Connection (closed|reset) by |Connection to \S+ closed|Host key verification failed|banner exchange:|client_loop: send disconnect|stdio forwarding failed|Permission denied, please)/

/** Pure: what the system's ssh said before it ended, in our words. The only place that knows its sentences. */
export function endFault(said: string, end: EndOf): Fault {
  const lines = said
    .split('\n')
    .map(printable)
    .filter((line) => line !== '' && !NOISE.test(line))
  const telling = (lines.findLast((line) => !FOLLOWS.test(line)) ?? lines.at(-1) ?? '').slice(0, DETAIL_CHARS)
  const words = { ...end, lines, telling }
  if (end.ready) return lost(words)
  for (const { says, fault } of RULES)
    for (const line of lines) {
      const match = says.exec(line)
      const found = match && fault(match, words)
      if (found) return found
    }
  return transient('ssh/protocol', end, { detail: telling || 'ssh ended without a word' })
}

/** Pure: the last thing ssh said that is no word of its own: a server's instruction before a prompt. Empty = nothing. */
export const lastWords = (said: string): string =>
  said
    .split('\n')
    .map(printable)
    .findLast((line) => line !== '' && !NOISE.test(line) && !FOLLOWS.test(line)) ?? ''

/** Pure: how ssh signed in to the last host. Empty = it did not say. */
export const signedInBy = (said: string): string =>
  [...said.matchAll(/^Authenticated to .* using "([^"]+)"\.?\s*$/gm)].at(-1)?.[1] ?? ''

const transient = (code: Fault['code'], { host }: EndOf, params: Record<string, string>) =>
  new Fault(code, 'transient', { host, ...params })
const permanent = (code: Fault['code'], { host }: EndOf, params: Record<string, string> = {}) =>
  new Fault(code, 'permanent', { host, ...params })

const lost = (words: Words) => transient('ssh/lost', words, words.telling ? { detail: words.telling } : {})
const unreachable = (words: Words, detail: string, address = words.address) =>
  transient('host/unreachable', words, { address, detail: detail.slice(0, DETAIL_CHARS) })

/** In the order of what counts: the first that any line fits decides. */
const RULES: readonly Rule[] = [
  {
    says: /[Bb]ad configuration option|^Bad owner or permissions on|^\S+ line \d+: |: line \d+: |^jumphost loop via /,
    fault: ({ input }, words) => {
      // Shells of a ProxyCommand number their lines too; ssh ends at once over its own.
      if (words.lines.some((line) => FOLLOWS.test(line))) return undefined
      return permanent('ssh/config-invalid', words, { detail: input.slice(0, DETAIL_CHARS) })
    },
  },
  {
    says: /no matching (.+?) found\. Their offer: (.*)/,
    fault: ([, what, offer], words) => {
      const need = `other algorithms (no matching ${what}; the server has ${offer})`
      return permanent('ssh/unsupported', words, { need: need.slice(0, DETAIL_CHARS) })
    },
  },
  {
    says: /Could not resolve hostname (\S+?): /,
    fault: ([, name], words) => unreachable(words, 'the name is not known', name),
  },
  {
    says: /^ssh: connect to host (\S+) port (\d+): (.*)/,
    fault: ([, address, port, why], words) => unreachable(words, dialWords(why!), `${address}:${port}`),
  },
  {
    says: /^channel \d+: open failed: (.*)$/,
    fault: ([, why], words) => unreachable(words, `the host on the way does not reach it: ${why}`),
  },
  {
    says: /is marked as revoked|was revoked and you have requested/,
    fault: (_, words) => permanent('ssh/host-key-revoked', words),
  },
  {
    says: /^Certificate invalid: (.*)$/,
    fault: ([, detail], words) => permanent('ssh/host-certificate', words, { detail: detail!.slice(0, DETAIL_CHARS) }),
  },
  {
    says: /REMOTE HOST IDENTIFICATION HAS CHANGED|has changed and you have requested strict checking/,
    fault: (_, words) => permanent('ssh/host-key-changed', words, { fingerprint: sentKey(words), known: 'another' }),
  },
  {
    says: /host key is known for .* and you have requested strict checking/,
    fault: (_, words) => permanent('ssh/host-key-unknown', words, { fingerprint: sentKey(words) }),
  },
  {
    says: /Too many authentication failures/,
    fault: (_, words) => refused(words, words.address, '', 'it allows no further try (MaxAuthTries)'),
  },
  {
    says: /^(?:(\S+@\S+): )?Permission denied \(([^)]*)\)/,
    fault: ([, login, offered], words) =>
      refused(words, login ?? words.address, offered!.split(',').join(', '), signingProblem(words.lines)),
  },
  {
    // A ProxyCommand that fails says why itself; ssh then finds nobody to talk to.
    says: /UNKNOWN port/,
    fault: (_, words) => unreachable(words, `its ProxyCommand ended: ${words.telling}`),
  },
  {
    says: /timed out|^Timeout, server/i,
    fault: (_, words) => unreachable(words, 'timed out'),
  },
  {
    says: /^(kex_exchange_identification:|Connection (closed|reset) by |banner exchange:)/,
    fault: (_, words) => transient('ssh/not-now', words, { address: words.address, detail: words.telling }),
  },
]

const refused = (words: Words, address: string, offered: string, detail?: string) =>
  permanent('ssh/auth-refused', words, { address, methods: '', offered, ...(detail ? { detail } : {}) })

const sentKey = ({ lines }: Words): string => /SHA256:[A-Za-z0-9+/]+/.exec(lines.join('\n'))?.[0] ?? ''

/** Why a key could not sign: a hardware key that was not there or not touched, an agent that would not. */
const signingProblem = (lines: readonly string[]): string | undefined =>
  lines
    .find((line) => /signing failed|incorrect passphrase|agent refused operation|device not found/i.test(line))
    ?.replace(/^sign_and_send_pubkey: /, '')
    .slice(0, DETAIL_CHARS)

function dialWords(words: string): string {
  if (/refused/i.test(words)) return 'connection refused'
  if (/No route|unreachable/i.test(words)) return 'no route to it'
  if (/timed out/i.test(words)) return 'timed out'
  return words
}
