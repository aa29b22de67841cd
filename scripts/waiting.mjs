// Says what is waited for, and for how long already. Uses no packages: run.mjs needs it before there are any.
import { spawn } from 'node:child_process'

const EVERY_MS = Number(process.env['EITRI_TICK_MS'] ?? '') || 5000

/** `Installing packages with npm ci … 312 of 540 packages, 35 s`. */
export function waitingLine(what, elapsedMs, detail) {
  const s = Math.floor(elapsedMs / 1000)
  const time = s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`
  return `${what} … ${[detail, time].filter(Boolean).join(', ')}`
}

/** Runs a program to its end and says every few seconds that it still does. `detail` tells how far it is. Never throws. */
export async function runSaid(what, command, args, options, detail = () => '') {
  const begun = Date.now()
  const { stderr } = process
  stderr.write(`${what} …${stderr.isTTY ? '' : '\n'}`)
  const say = () => {
    const line = waitingLine(what, Date.now() - begun, detail())
    stderr.write(stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`)
  }
  const timer = setInterval(say, EVERY_MS)
  const outcome = await new Promise((resolve) => {
    const child = spawn(command, args, options)
    child.on('error', (error) => resolve({ status: null, error }))
    child.on('exit', (status) => resolve({ status, error: undefined }))
  })
  clearInterval(timer)
  if (stderr.isTTY) stderr.write(`\r\x1b[K${waitingLine(what, Date.now() - begun, '')}\n`)
  return outcome
}
