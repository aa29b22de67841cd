import { ShieldAlert } from 'lucide-react'
import { cx } from '../../lib/class-names.ts'
import { formatBytes, plural } from '../../lib/format.ts'
import type { Effect } from './effects.ts'
import type { GuestText } from './guest-text.ts'

const VERBS: Record<Effect['verb'], string> = {
  write: 'writes',
  user: 'user',
  packages: 'installs',
  run: 'runs once',
  'every boot': 'runs every boot',
  name: 'is called',
  fetch: 'fetches',
  set: 'sets',
}

/** What the guest gets and what it will do with it, with the fleet's own part. */
export function GuestPreview({ guest, fleet }: { guest: GuestText | undefined; fleet: readonly string[] }) {
  return (
    <>
      <PreviewPart title="The guest will see">
        {guest && <EffectList list={guest.effects.list} />}
        {guest?.effects.unread && <p className="text-warn">{guest.effects.unread}</p>}
        {!guest && <p className="text-dim">No user-data: the image as it is.</p>}
        <p className="mt-2 text-faint text-xs">From the fleet, whatever the user-data says:</p>
        <ul className="grid list-disc gap-0.5 pl-4 text-dim text-xs">
          {fleet.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      </PreviewPart>
      {guest && <SentBytes guest={guest} />}
      {guest?.rendered && <Rendered rendered={guest.rendered} />}
    </>
  )
}

export const PreviewPart = ({ title, children }: { title: string; children: React.ReactNode }) => (
  <section className="border-line border-t py-3 first:border-t-0 first:pt-0">
    <h2 className="mb-1.5 font-medium text-dim text-xs">{title}</h2>
    {children}
  </section>
)

const EffectList = ({ list }: { list: readonly Effect[] }) => (
  <ul className="grid gap-1">
    {list.map(({ verb, what, detail }, i) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the same command may stand twice
      <li key={i} className="grid grid-cols-[6.5rem_1fr] gap-x-2">
        <span className="text-faint">{VERBS[verb]}</span>
        <span className="min-w-0 break-words">
          <code className="font-mono text-xs">{what}</code>
          {detail && <span className="block text-dim text-xs">{detail}</span>}
        </span>
      </li>
    ))}
  </ul>
)

function SentBytes({ guest }: { guest: GuestText }) {
  const over = guest.share > 1
  const ends =
    guest.lineEnds === 'Windows' ? 'line ends of Windows' : guest.lineEnds === 'mixed' ? 'mixed line ends' : ''
  const told = [guest.byteOrderMark ? 'a byte order mark in front' : '', ends].filter(Boolean).join(', ')
  return (
    <PreviewPart title="As it is sent">
      <p className={cx(over && 'text-warn')}>
        {formatBytes(guest.bytes)} of the 16 KB that EC2 and tools like it take
        {over && '; here 64 KiB are taken'}
      </p>
      <div aria-hidden className="mt-1 h-1 overflow-hidden rounded bg-sunken">
        <div
          className={cx('h-full', over ? 'bg-warn' : 'bg-accent')}
          style={{ width: `${Math.min(1, guest.share) * 100}%` }}
        />
      </div>
      {told && <p className="mt-1 text-dim text-xs">With {told}, kept as they are.</p>}
      <table className="mt-2 font-mono text-[11px] leading-4" aria-label="First line in hexadecimal">
        <tbody>
          {guest.hex.map((row) => (
            <tr key={row.bytes}>
              <td className="whitespace-nowrap pr-3 align-top text-dim">{row.bytes}</td>
              <td className="whitespace-pre align-top text-faint max-sm:hidden">{row.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className={cx('mt-2 flex items-center gap-1.5 text-xs', guest.secrets > 0 ? 'text-warn' : 'text-faint')}>
        {guest.secrets > 0 && <ShieldAlert size={13} aria-hidden />}
        {guest.secrets > 0
          ? `${plural(guest.secrets, 'secret')} in clear: whoever may read the VM can read them`
          : 'No secrets found'}
      </p>
    </PreviewPart>
  )
}

const Rendered = ({ rendered }: { rendered: NonNullable<GuestText['rendered']> }) => (
  <PreviewPart title="As the template becomes, with sample values">
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard
      tabIndex={0}
      role="region"
      aria-label="Rendered template"
      className="max-h-48 overflow-auto rounded-md border border-line bg-bg p-2 font-mono text-[11px] leading-4"
    >
      {rendered.text}
    </pre>
    {rendered.left.length > 0 && (
      <p className="mt-1 text-warn text-xs">
        Not rendered here:{' '}
        {rendered.left
          .slice(0, 5)
          .map(({ line, what }) => `line ${line + 1}, ${what}`)
          .join('; ')}
        .
      </p>
    )}
  </PreviewPart>
)
