import { contextBridge, ipcRenderer } from 'electron'

/** All a page can reach of Electron. */
export interface EitriBridge {
  /** Answered by one window message `{ eitri: 'console-port', nonce }` that carries the port: ports do not pass through the bridge. */
  openConsolePort(nonce: string): void
}

const bridge: EitriBridge = {
  openConsolePort(nonce) {
    const { port1, port2 } = new MessageChannel()
    ipcRenderer.postMessage('console-port', null, [port1])
    window.postMessage({ eitri: 'console-port', nonce: String(nonce) }, location.origin, [port2])
  },
}

contextBridge.exposeInMainWorld('eitri', bridge)
