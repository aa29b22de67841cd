import { spawn } from 'node:child_process'

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024
const DEFAULT_TIMEOUT_MS = 30_000

export interface ProgramResult {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
  timedOut: boolean
}

export interface ProgramOptions {
  env?: NodeJS.ProcessEnv
  cwd?: string
  input?: string | Uint8Array
  timeoutMs?: number
}

/** Runs a program to its end; killed past its deadline. Any exit code is a result, never an exception. */
export function runProgram(file: string, args: string[], options: ProgramOptions = {}): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env: options.env, cwd: options.cwd, stdio: ['pipe', 'pipe', 'pipe'] })
    const out: Buffer[] = []
    const err: Buffer[] = []
    let kept = 0
    let timedOut = false
    const keep = (into: Buffer[]) => (chunk: Buffer) => {
      kept += chunk.length
      if (kept <= MAX_OUTPUT_BYTES) into.push(chunk)
      else child.kill('SIGKILL')
    }
    const timer = setTimeout(() => {
      timedOut = true
      child.kill('SIGKILL')
    }, options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
    child.stdout.on('data', keep(out))
    child.stderr.on('data', keep(err))
    child.on('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      const text = (chunks: Buffer[]) => Buffer.concat(chunks).toString()
      resolve({ code, signal, stdout: text(out), stderr: text(err), timedOut })
    })
    child.stdin.on('error', () => {})
    child.stdin.end(options.input ?? '')
  })
}

/** Like runProgram, but anything other than exit code 0 throws with what the program said. */
export async function mustRun(file: string, args: string[], options: ProgramOptions = {}): Promise<string> {
  const result = await runProgram(file, args, options)
  if (result.code === 0) return result.stdout
  const how = result.timedOut ? 'timed out' : `ended with ${result.code ?? result.signal}`
  throw new Error(`${file} ${args.join(' ')} ${how}: ${result.stderr || result.stdout}`)
}
