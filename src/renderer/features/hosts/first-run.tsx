import { ArrowRight, Laptop, Server } from 'lucide-react'
import { useCallback } from 'react'
import { useInfo } from '../../api/queries.ts'
import { cx } from '../../lib/class-names.ts'
import { hrefOf } from '../../routes.ts'
import { EitriMark } from '../../ui/mark.tsx'
import { addThisComputer } from './actions.ts'

/** What a window shows before there is any host: one sentence, two ways to begin. */
export function FirstRun() {
  const { data: info } = useInfo()
  const localImpossible = info && !info.localHostPossible
  return (
    <div className="flex h-full flex-col items-center overflow-y-auto bg-bg px-6">
      <div className="my-auto w-full max-w-xl py-12">
        <EitriMark size={44} />
        <h1 className="mt-6 text-balance font-semibold text-3xl leading-tight tracking-tight">
          Run virtual machines on machines you already reach.
        </h1>
        <p className="mt-3 text-base text-dim">
          Eitri puts one small agent on a host and keeps your VMs and their consoles right, even while this window is
          closed. Where should the first one run?
        </p>
        <div className="mt-8 grid gap-3">
          <Choice
            icon={<Laptop size={20} aria-hidden />}
            title="Use this computer"
            text={
              localImpossible
                ? info.localHostDetail
                : 'Starts an agent here, as you. Nothing is installed system-wide, no SSH is needed.'
            }
            onClick={localImpossible ? undefined : () => void addThisComputer()}
            first={!localImpossible}
          />
          <Choice
            icon={<Server size={20} aria-hidden />}
            title="Add a host over SSH"
            text={sshText(info?.sshConfigHosts ?? [])}
            href={hrefOf({ page: 'add-host', taskId: '' })}
            first={localImpossible === true}
          />
        </div>
        <p className="mt-6 text-faint text-xs">
          On an SSH host the agent is one file and one service. It opens no port; removing the host can take it away
          again.
        </p>
      </div>
    </div>
  )
}

function sshText(names: readonly string[]): string {
  if (names.length === 0) return 'Any Linux machine you can sign in to. You see its key before anything is sent.'
  const some = names.slice(0, 3).join(', ')
  const more = names.length > 3 ? ` and ${names.length - 3} more` : ''
  return `Your ssh configuration knows ${some}${more}. You see the host's key before anything is sent.`
}

interface ChoiceProps {
  icon: React.ReactNode
  title: string
  text: string
  href?: string
  onClick?: (() => void) | undefined
  /** Has the focus when the window opens: Enter begins. */
  first: boolean
}

function Choice({ icon, title, text, href, onClick, first }: ChoiceProps) {
  const focus = useCallback((element: HTMLElement | null) => void (first && element?.focus()), [first])
  const possible = href !== undefined || onClick !== undefined
  const className = cx(
    'group flex w-full items-center gap-4 rounded-xl border border-line bg-panel p-4 text-left transition-all',
    possible ? 'hover:border-accent hover:shadow-pop' : 'opacity-80',
  )
  const content = (
    <>
      <span className="flex size-11 shrink-0 items-center justify-center rounded-lg bg-bg text-accent">{icon}</span>
      <span className="min-w-0 flex-1">
        <span className="block font-semibold text-base">{title}</span>
        <span className="block text-dim">{text}</span>
      </span>
      {possible && (
        <ArrowRight
          size={18}
          aria-hidden
          className="shrink-0 text-faint transition-transform group-hover:translate-x-0.5 group-hover:text-accent"
        />
      )}
    </>
  )
  return href === undefined ? (
    <button ref={focus} type="button" className={className} onClick={onClick} disabled={!possible}>
      {content}
    </button>
  ) : (
    <a ref={focus} href={href} className={className}>
      {content}
    </a>
  )
}
