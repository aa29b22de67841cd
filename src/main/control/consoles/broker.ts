import type { Clock } from '../../../ipc/base/clock.ts'
import { type ConsoleFrame, cutUtf8 } from '../../../ipc/console-frames.ts'
import { Keyboards } from './keyboards.ts'
import type { OpenShell } from './shell.ts'
import { ShellViewer } from './shell-viewer.ts'
import { type ConsoleSessions, type ConsoleSink, ConsoleViewer, type ConsoleVms } from './viewer.ts'

/** Consoles of all windows together; each costs one stream to an agent and at most one unshown window of bytes. */
const MAX_VIEWERS = 1024
/** Shells of all windows together; each costs a session on its host, or a process here. */
const MAX_SHELLS = 64

export interface ConsoleBroker {
  /** Starts a viewer; undefined when it was refused, which the sink has been told as a final `close`. */
  open(tenant: string, frame: Extract<ConsoleFrame, { type: 'open' }>, sink: ConsoleSink): ConsoleViewer | undefined
  /** Starts a shell; undefined when it was refused, which the sink has been told as a final `close`. */
  openShell(
    tenant: string,
    frame: Extract<ConsoleFrame, { type: 'open-shell' }>,
    sink: ConsoleSink,
  ): ShellViewer | undefined
  /** Ends every viewer without a word: windows open them again when the control plane is back. */
  close(): void
}

/** Joins windows to agents' consoles: one agent stream per viewer, one keyboard per VM. */
export function createConsoleBroker(parts: {
  vms: ConsoleVms
  sessions: ConsoleSessions
  clock: Clock
  openShell: OpenShell
}): ConsoleBroker {
  const keyboards = new Keyboards()
  const viewers = new Set<ConsoleViewer>()
  const shells = new Set<ShellViewer>()
  return {
    open(tenant, frame, sink) {
      const refuse = (why: string) => {
        void sink.send({ type: 'close', id: frame.id, reason: cutUtf8(`console unavailable: ${why}`) })
        return undefined
      }
      const vm = parts.vms.findForConsole(tenant, frame.vm)
      if (!vm) return refuse(parts.vms.whyNone(tenant, frame.vm))
      if (viewers.size >= MAX_VIEWERS) return refuse(`${vm.name} on ${vm.hostName}: ${MAX_VIEWERS} consoles are open`)
      const viewer = new ConsoleViewer({ ...parts, tenant, keyboards }, vm, frame, sink)
      viewers.add(viewer)
      void viewer.run().finally(() => viewers.delete(viewer))
      return viewer
    },
    openShell(tenant, frame, sink) {
      if (shells.size >= MAX_SHELLS) {
        void sink.send({ type: 'close', id: frame.id, reason: `${MAX_SHELLS} shells are open: close some first` })
        return undefined
      }
      const viewer = new ShellViewer(frame, sink)
      shells.add(viewer)
      void viewer.run(tenant, frame, parts.openShell).finally(() => shells.delete(viewer))
      return viewer
    },
    close() {
      for (const viewer of [...viewers, ...shells]) viewer.close()
    },
  }
}
