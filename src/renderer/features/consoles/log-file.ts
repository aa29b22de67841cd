/** A file being written; `close` keeps it, `abandon` leaves nothing. */
export interface LogFile {
  write(bytes: Uint8Array): Promise<void>
  close(): Promise<void>
  abandon(): Promise<void>
}

interface FileHandle {
  createWritable(): Promise<{ write(data: Uint8Array): Promise<void>; close(): Promise<void>; abort(): Promise<void> }>
}
type Picker = (options: { suggestedName: string }) => Promise<FileHandle>

/** Where the person says; streamed to the disk where the browser can, else gathered and downloaded. Undefined = they changed their mind. */
export async function chooseLogFile(suggestedName: string): Promise<LogFile | undefined> {
  const { showSaveFilePicker: pick } = window as unknown as { showSaveFilePicker?: Picker }
  if (!pick) return downloaded(suggestedName)
  try {
    const file = await (await pick.call(window, { suggestedName })).createWritable()
    return { write: (bytes) => file.write(bytes), close: () => file.close(), abandon: () => file.abort() }
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return undefined
    throw error
  }
}

/** Bounded by what a host keeps of a console. */
function downloaded(name: string): LogFile {
  const parts: BlobPart[] = []
  return {
    write: async (bytes) => {
      parts.push(bytes.slice())
    },
    close: async () => {
      const url = URL.createObjectURL(new Blob(parts, { type: 'text/plain' }))
      const link = document.createElement('a')
      link.href = url
      link.download = name
      link.click()
      setTimeout(() => URL.revokeObjectURL(url), 0)
    },
    abandon: async () => {
      parts.length = 0
    },
  }
}
