import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  path: string
  range: string | undefined
  ifRange: string | undefined
  authorization: string | undefined
}

/** Takes over one request; what it does not end stays open. */
export type Misbehaviour = (request: http.IncomingMessage, response: http.ServerResponse) => unknown

/** A web server of one file on loopback. It behaves, but for the requests a misbehaviour is queued for. */
export class ImageServer implements AsyncDisposable {
  readonly asked: Asked[] = []
  readonly #queue: Misbehaviour[] = []
  readonly #server = http.createServer((request, response) => this.#answer(request, response))
  body: Buffer
  etag = ''
  lastModified = ''
  ranges = true
  /** Every request misbehaves so. */
  always: Misbehaviour | undefined

  private constructor(body: Buffer) {
    this.body = body
  }

  static async start(body: Buffer): Promise<ImageServer> {
    const server = new ImageServer(body)
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }
  get url(): string {
    return `${this.origin}/web.img?token=secret`
  }

  /** The next requests, in order. */
  next(...misbehaviours: Misbehaviour[]): void {
    this.#queue.push(...misbehaviours)
  }

  get validators(): Record<string, string> {
    return {
      ...(this.etag === '' ? {} : { etag: this.etag }),
      ...(this.lastModified === '' ? {} : { 'last-modified': this.lastModified }),
    }
  }

  /** Breaks every connection. */
  break(): void {
    this.#server.closeAllConnections()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.break()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #answer(request: http.IncomingMessage, response: http.ServerResponse): void {
    const { range, authorization } = request.headers
    const ifRange = request.headers['if-range']?.toString()
    this.asked.push({ path: request.url ?? '', range, ifRange, authorization })
    const misbehave = this.#queue.shift() ?? this.always
    if (misbehave) return void misbehave(request, response)
    const same = ifRange === undefined || ifRange === this.etag || ifRange === this.lastModified
    const from = this.ranges && same ? Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0) : 0
    const total = this.body.length
    if (from > 0 && from >= total)
      return void response.writeHead(416, { 'content-range': `bytes */${total}`, ...this.validators }).end()
    response.writeHead(from > 0 ? 206 : 200, {
      'content-length': total - from,
      ...this.validators,
      ...(from > 0 ? { 'content-range': `bytes ${from}-${total - 1}/${total}` } : {}),
    })
    response.end(this.body.subarray(from))
  }
}

/** Sends the file's head and nothing more; `closed` hears when the other side gave up. */
export const stopAfter =
  (server: ImageServer, bytes: number, closed = () => {}): Misbehaviour =>
  (_request, response) => {
    response.on('close', closed)
    response.writeHead(200, { 'content-length': server.body.length, ...server.validators })
    response.write(server.body.subarray(0, bytes))
  }

export const redirectTo =
  (location: string | undefined, status = 302): Misbehaviour =>
  (_request, response) =>
    response.writeHead(status, location === undefined ? {} : { location }).end('moved')

export const sendPage: Misbehaviour = (_request, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('<!DOCTYPE html>\n<title>Sign in</title>')
