const ESC = 0x1b
const BEL = 0x07
const CAN = 0x18
const SUB = 0x1a
const BACKSLASH = 0x5c
/** `]` OSC, `P` DCS, `_` APC, `^` PM, `X` SOS: what follows is swallowed until its end. */
const STRINGS = new Set([0x5d, 0x50, 0x5f, 0x5e, 0x58])

/** Follows bytes of a guest so far as to know whether a control string was begun and not ended: then nothing it prints is seen. */
export class EscapeWatch {
  #state: 'ground' | 'escape' | 'string' | 'string-escape' = 'ground'
  #sinceMs: number | undefined

  /** Since when a string is open; undefined = none is. */
  get openSinceMs(): number | undefined {
    return this.#sinceMs
  }

  take(bytes: Uint8Array, nowMs: number): void {
    for (let at = 0; at < bytes.length; at++) {
      // Text without an escape is passed over at once: this sees every byte.
      if (this.#state === 'ground') {
        at = bytes.indexOf(ESC, at)
        if (at < 0) return
        this.#state = 'escape'
      } else this.#step(bytes[at]!, nowMs)
    }
  }

  reset(): void {
    this.#state = 'ground'
    this.#sinceMs = undefined
  }

  #step(byte: number, nowMs: number): void {
    switch (this.#state) {
      case 'escape':
        if (STRINGS.has(byte)) {
          this.#state = 'string'
          this.#sinceMs = nowMs
        } else if (byte !== ESC) this.#state = 'ground'
        return
      case 'string':
        if (byte === ESC) this.#state = 'string-escape'
        else if (byte === BEL || byte === CAN || byte === SUB) this.reset()
        return
      case 'string-escape':
        // ESC ends the string; what comes with it may begin another.
        this.reset()
        if (byte === BACKSLASH) return
        this.#state = 'escape'
        this.#step(byte, nowMs)
    }
  }
}
