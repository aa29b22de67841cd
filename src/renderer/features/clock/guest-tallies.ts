import { type GuestTally, isOff } from '../../../ipc/clock-headline.ts'
import { type ClockWord, guestClockState } from '../../../ipc/clock-words.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { hasClock, isClockOld } from './view-model.ts'

/** The word of a guest that runs on a host that answers; undefined = there is nothing to count. */
const wordOf = (vm: Vm): ClockWord | undefined =>
  hasClock(vm) && !isClockOld(vm) ? guestClockState(vm.clock).word : undefined

/** What the headline takes from thousands of guests, kept while they change: only changed rows are looked at. */
export class GuestTallies {
  #rows: readonly Vm[] = []
  #words: (ClockWord | undefined)[] = []
  #tally: GuestTally = { off: [], silent: 0, all: 0 }

  /** The same object as before while nothing of it changed. */
  update(rows: readonly Vm[]): GuestTally {
    const before = this.#rows
    if (rows === before) return this.#tally
    this.#rows = rows
    let changed = rows.length !== before.length
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!
      const was = before[i]
      if (row === was) continue
      const word = wordOf(row)
      if (word !== this.#words[i] || (isOff(word) && !saysTheSame(row, was))) changed = true
      this.#words[i] = word
    }
    this.#words.length = rows.length
    if (changed) this.#tally = this.#counted()
    return this.#tally
  }

  #counted(): GuestTally {
    const counted = this.#words.filter((word) => word !== undefined)
    return {
      off: this.#rows.filter((_, i) => isOff(this.#words[i])),
      silent: counted.filter((word) => word === 'Not reported').length,
      all: counted.length,
    }
  }
}

const saysTheSame = (row: Vm, was: Vm | undefined): boolean =>
  was !== undefined && row.id === was.id && row.name === was.name && row.clock === was.clock
