import { AlertTriangle, Bell, CheckCircle2, type LucideIcon, XCircle } from 'lucide-react'
import { Popover as Radix } from 'radix-ui'
import { useState } from 'react'
import { cx } from '../../lib/class-names.ts'
import { formatAgo, formatTime, plural } from '../../lib/format.ts'
import { go, hrefOf, routeOfAddress } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { TONE_TEXT } from '../../ui/state-word.tsx'
import { type Notice, type NoticeItem, noticeTitle } from './notice-list.ts'
import { clearNotices, readAllNotices, useNotices } from './notice-store.ts'

const ICONS: Record<Notice['tone'], LucideIcon> = { bad: XCircle, warn: AlertTriangle, good: CheckCircle2 }

/** Everything that was told, until it is cleared; the number is what nobody has looked at yet. */
export function NoticeBell() {
  const notices = useNotices((s) => s.notices)
  const unread = notices.filter((n) => !n.read)
  const [open, setOpen] = useState(false)
  const worst = unread.some((n) => n.tone === 'bad') ? 'bad' : 'warn'
  const close = () => {
    setOpen(false)
    readAllNotices()
  }
  return (
    <Radix.Root open={open} onOpenChange={(next) => (next ? setOpen(true) : close())}>
      <Radix.Trigger
        aria-label={unread.length === 0 ? 'Notices' : `Notices, ${unread.length} new`}
        title="Notices"
        className="relative inline-flex h-7 min-w-7 items-center justify-center gap-1 rounded-md px-1.5 text-dim hover:bg-hover hover:text-ink data-[state=open]:bg-hover"
      >
        <Bell size={15} aria-hidden />
        {unread.length > 0 && (
          <span className={cx('font-semibold text-xs', TONE_TEXT[worst])} aria-hidden>
            {unread.length}
          </span>
        )}
      </Radix.Trigger>
      <span role="status" className="sr-only">
        {unread[0] ? noticeTitle(unread[0]) : ''}
      </span>
      <Radix.Portal>
        <Radix.Content
          align="end"
          sideOffset={6}
          aria-label="Notices"
          className="z-40 flex max-h-[min(34rem,80vh)] w-[min(26rem,calc(100vw-1rem))] flex-col rounded-lg border border-line bg-panel shadow-pop"
        >
          <NoticePanel notices={notices} onOpen={close} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

function NoticePanel({ notices, onOpen }: { notices: readonly Notice[]; onOpen: () => void }) {
  return (
    <>
      <header className="flex h-10 shrink-0 items-center justify-between border-line border-b px-4">
        <h2 className="font-medium">Notices</h2>
        <Button look="quiet" size="small" disabled={notices.length === 0} onClick={clearNotices}>
          Clear all
        </Button>
      </header>
      {notices.length === 0 ? (
        <p className="px-6 py-10 text-center text-dim">
          Nothing yet. A VM that crashes, a host that is lost, a certificate that ends and the like are told here.
        </p>
      ) : (
        <ul className="min-h-0 overflow-y-auto">
          {notices.map((notice) => (
            <NoticeRow key={`${notice.id}-${notice.at}`} notice={notice} onOpen={onOpen} />
          ))}
        </ul>
      )}
      <footer className="shrink-0 border-line border-t px-2 py-1.5">
        <a
          href={hrefOf({ page: 'settings', part: 'notifications' })}
          onClick={onOpen}
          className={buttonClass('quiet', 'small')}
        >
          What to tell, and when
        </a>
      </footer>
    </>
  )
}

const ITEMS_SHOWN = 8

function NoticeRow({ notice, onOpen }: { notice: Notice; onOpen: () => void }) {
  const now = new Date(useNow())
  const at = new Date(notice.at)
  const Icon = ICONS[notice.tone] ?? AlertTriangle
  const [only] = notice.items
  return (
    <li className={cx('flex gap-3 border-line border-b px-4 py-2.5 last:border-b-0', !notice.read && 'bg-accent/5')}>
      <Icon size={16} aria-hidden className={cx('mt-0.5 shrink-0', TONE_TEXT[notice.tone])} />
      <div className="min-w-0 flex-1">
        <div className="flex items-baseline justify-between gap-3">
          <p className="min-w-0 break-words font-medium">
            {only && notice.items.length === 1 ? (
              <ItemLink item={only} onOpen={onOpen}>
                {noticeTitle(notice)}
              </ItemLink>
            ) : (
              noticeTitle(notice)
            )}
          </p>
          <time dateTime={at.toISOString()} title={`${at.toISOString()} (UTC)`} className="shrink-0 text-faint text-xs">
            {now.getTime() - notice.at < 3_600_000 ? formatAgo(at, now) : formatTime(at, now)}
          </time>
        </div>
        {notice.items.length === 1 ? (
          only?.text && <p className="break-words text-dim">{only.text}</p>
        ) : (
          <ul className="flex flex-wrap gap-x-3">
            {notice.items.slice(0, ITEMS_SHOWN).map((item) => (
              <li key={item.address + item.title} title={item.title} className="leading-6">
                <ItemLink item={item} onOpen={onOpen}>
                  {item.subject}
                </ItemLink>
              </li>
            ))}
            {notice.items.length > ITEMS_SHOWN && (
              <li className="text-dim leading-6">and {plural(notice.items.length - ITEMS_SHOWN, 'more', 'more')}</li>
            )}
          </ul>
        )}
      </div>
    </li>
  )
}

function ItemLink({ item, onOpen, children }: { item: NoticeItem; onOpen: () => void; children: string }) {
  const route = routeOfAddress(item.address)
  if (!route) return <>{children}</>
  return (
    <a
      href={hrefOf(route)}
      onClick={(event) => {
        event.preventDefault()
        onOpen()
        go(route)
      }}
      className="underline decoration-line-strong/60 underline-offset-2 hover:decoration-current"
    >
      {children}
    </a>
  )
}
