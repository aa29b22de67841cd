import {
  AlertTriangle,
  CheckCircle2,
  CircleDashed,
  CircleHelp,
  CircleStop,
  KeyRound,
  type LucideIcon,
  PauseCircle,
  PlugZap,
  Timer,
  XCircle,
} from 'lucide-react'
import { cx } from '../lib/class-names.ts'

export type Tone = 'good' | 'busy' | 'quiet' | 'warn' | 'bad' | 'unknown' | 'hold'

/** One state as it is shown everywhere: word, icon and colour together. */
export interface StateView {
  word: string
  tone: Tone
  icon?: 'key' | 'pause' | 'plug'
  /** The rest of the sentence, for the tip and the second line. */
  detail?: string
}

const ICONS: Record<Tone, LucideIcon> = {
  good: CheckCircle2,
  busy: CircleDashed,
  quiet: CircleStop,
  warn: AlertTriangle,
  bad: XCircle,
  unknown: CircleHelp,
  hold: Timer,
}
const EXTRA: Record<NonNullable<StateView['icon']>, LucideIcon> = { key: KeyRound, pause: PauseCircle, plug: PlugZap }

export const TONE_TEXT: Record<Tone, string> = {
  good: 'text-good',
  busy: 'text-info',
  quiet: 'text-quiet',
  warn: 'text-warn',
  bad: 'text-bad',
  unknown: 'text-quiet',
  hold: 'text-hold',
}

/** `checking` = from before a sleep or a silence: it has no colour until it is confirmed. */
export function StateWord({ state, strong, checking }: { state: StateView; strong?: boolean; checking?: boolean }) {
  const Icon = checking ? ICONS.unknown : state.icon ? EXTRA[state.icon] : ICONS[state.tone]
  return (
    <span
      className={cx(
        'inline-flex min-w-0 max-w-full items-center gap-1.5 align-middle',
        TONE_TEXT[checking ? 'unknown' : state.tone],
        strong && 'font-medium',
      )}
      title={
        checking
          ? `${state.word}, as last known: being checked`
          : state.detail
            ? `${state.word}: ${state.detail}`
            : state.word
      }
    >
      <Icon size={15} aria-hidden className="shrink-0" strokeWidth={2} />
      <span className="truncate">{state.word}</span>
    </span>
  )
}
