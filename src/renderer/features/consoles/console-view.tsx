import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { useNow } from '../../state/now.ts'
import { usePreferences } from '../../state/preferences.ts'
import { toastDone } from '../../ui/toasts.tsx'
import { ConsoleBar } from './console-bar.tsx'
import { ConsoleFind } from './console-find.tsx'
import { handleConsoleKey } from './console-keys.ts'
import { consoleOf, type OpenConsole } from './open-consoles.ts'
import { PasteGuard } from './paste-guard.tsx'
import { needsGuard } from './paste-text.ts'
import { terminalText } from './terminal.ts'
import { consoleStatus } from './view-model.ts'

/** The serial console of one VM, as large as its place. */
export function ConsoleView({ vm }: { vm: Vm }) {
  const [generation, setGeneration] = useState(0)
  const console = useConsole(vm.id, generation)
  const [finding, setFinding] = useState(false)
  const [pasting, setPasting] = useState<string>()
  const state = useSyncExternalStore(
    (tell) => console?.session.subscribe(tell) ?? (() => undefined),
    () => console?.session.state,
  )
  const now = useNow()
  const place = useRef<HTMLDivElement>(null)
  const screenReader = usePreferences((p) => p.screenReader)

  useEffect(() => {
    const home = place.current
    if (!console || !home) return
    home.append(console.host)
    console.fit()
    const { terminal } = console
    terminal.options.screenReaderMode = screenReader
    const resized = new ResizeObserver(() => console.fit())
    resized.observe(home)
    const paste = (text: string) => {
      if (needsGuard(text)) setPasting(text)
      else terminal.paste(text)
    }
    terminal.attachCustomKeyEventHandler((event) =>
      handleConsoleKey(event, {
        leave: () => home.closest('main')?.querySelector<HTMLElement>('header a, header button')?.focus(),
        find: () => setFinding(true),
        copy: () => void navigator.clipboard.writeText(terminal.getSelection()),
        paste: () => void navigator.clipboard.readText().then(paste),
      }),
    )
    const onPaste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData('text/plain') ?? ''
      if (!needsGuard(text)) return
      event.preventDefault()
      event.stopPropagation()
      setPasting(text)
    }
    home.addEventListener('paste', onPaste, true)
    terminal.focus()
    return () => {
      resized.disconnect()
      home.removeEventListener('paste', onPaste, true)
      console.host.remove()
    }
  }, [console, screenReader])

  const status = state && consoleStatus(vm, state, console?.session.printedAtMs, now)
  const off = status?.off ?? false
  useEffect(() => console?.showCursor(!off), [console, off])

  if (!console || !state || !status) return null
  const { terminal } = console
  return (
    <section aria-label={`Console of ${vm.name}`} className="dark flex h-full min-h-0 flex-col bg-terminal text-ink">
      <ConsoleBar
        vm={vm}
        state={state}
        status={status}
        onFind={() => setFinding(true)}
        onCopyText={() =>
          void navigator.clipboard
            .writeText(terminalText(terminal))
            .then(() => toastDone(`Copied the text of ${vm.name}’s console`))
        }
        onReset={() => terminal.reset()}
        onTakeKeyboard={() => console.session.takeKeyboard()}
        onOpenAgain={() => setGeneration((n) => n + 1)}
      />
      {finding && (
        <ConsoleFind
          search={console.search}
          onClose={() => {
            setFinding(false)
            terminal.focus()
          }}
        />
      )}
      <div className="min-h-0 flex-1">
        <div ref={place} className="h-full" />
      </div>
      <p className="flex h-7 shrink-0 items-center gap-3 border-line border-t px-3 text-faint text-xs [&_kbd]:font-sans [&_kbd]:text-dim">
        <span>
          <kbd>F6</kbd> leaves the console
        </span>
        <span>
          <kbd>Ctrl+Shift+F</kbd> finds
        </span>
        <span>
          <kbd>Ctrl+Shift+C / V</kbd> copy, paste
        </span>
        <span className="ml-auto">serial0</span>
      </p>
      {pasting !== undefined && (
        <PasteGuard
          text={pasting}
          vmName={vm.name}
          onClose={() => setPasting(undefined)}
          onPaste={() => {
            terminal.paste(pasting)
            setPasting(undefined)
            terminal.focus()
          }}
        />
      )}
    </section>
  )
}

/** Made after the first paint of its screen. A closed one is replaced when its generation changes. */
function useConsole(vmId: string, generation: number): OpenConsole | undefined {
  const [console, setConsole] = useState<OpenConsole>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new generation asks for a new console
  useEffect(() => setConsole(consoleOf(vmId)), [vmId, generation])
  return console?.session.vm === vmId ? console : undefined
}
