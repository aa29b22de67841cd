import { contextBridge, ipcRenderer } from 'electron'
import { DESKTOP_CHANNELS, type DesktopNotice } from '../../ipc/desktop-channel.ts'

/** All a page can reach of Electron. */
export interface EitriBridge {
  /** Answered by one window message `{ eitri: 'console-port', nonce }` that carries the port: ports do not pass through the bridge. */
  openConsolePort(nonce: string): void
  /** Into the notification centre of the computer; malformed ones are left out. */
  notify(notice: DesktopNotice): void
  /** Addresses of links and notifications a person clicked, from now on; answers what stops it. */
  onOpen(listener: (address: string) => void): () => void
  /** The computer woke; answers what stops it. */
  onResume(listener: () => void): () => void
  /** Whether a screen reader runs, now and at each change; answers what stops it. */
  onReader(listener: (runs: boolean) => void): () => void
}

function heard(channel: string, listener: (value: unknown) => void): () => void {
  const told = (_: unknown, value: unknown) => listener(value)
  ipcRenderer.on(channel, told)
  return () => ipcRenderer.off(channel, told)
}

const bridge: EitriBridge = {
  openConsolePort(nonce) {
    const { port1, port2 } = new MessageChannel()
    ipcRenderer.postMessage('console-port', null, [port1])
    window.postMessage({ eitri: 'console-port', nonce: String(nonce) }, location.origin, [port2])
  },
  notify: (notice) => ipcRenderer.send(DESKTOP_CHANNELS.notify, notice),
  onOpen(listener) {
    const stop = heard(DESKTOP_CHANNELS.address, (address) => listener(String(address)))
    ipcRenderer.send(DESKTOP_CHANNELS.follow)
    return stop
  },
  onResume: (listener) => heard(DESKTOP_CHANNELS.resume, () => listener()),
  onReader: (listener) => heard(DESKTOP_CHANNELS.reader, (runs) => listener(runs === true)),
}

contextBridge.exposeInMainWorld('eitri', bridge)
