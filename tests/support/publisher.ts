import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

export type Page = string | Buffer | ((request: IncomingMessage, response: ServerResponse) => unknown)

/** A publisher of images on loopback, with a certificate only those who know its own authority trust. */
export class Publisher implements AsyncDisposable {
  readonly pages: Record<string, Page> = {}
  readonly asked: string[] = []
  readonly ca: string
  readonly #server: https.Server

  private constructor(key: string, cert: string) {
    this.ca = cert
    this.#server = https.createServer({ key, cert }, (request, response) => this.#answer(request, response))
  }

  /** `dir` takes its key and certificate. */
  static async start(dir: string): Promise<Publisher> {
    const [key, cert] = [join(dir, 'publisher.key'), join(dir, 'publisher.crt')]
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    const name = ['-subj', '/CN=publisher', '-addext', 'subjectAltName=IP:127.0.0.1']
    execFileSync('openssl', ['req', '-x509', ...kind, ...name, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    const publisher = new Publisher(readFileSync(key, 'utf8'), readFileSync(cert, 'utf8'))
    publisher.#server.listen(0, '127.0.0.1')
    await once(publisher.#server, 'listening')
    return publisher
  }

  get origin(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.asked.push(request.url ?? '')
    const page = this.pages[request.url ?? '']
    if (typeof page === 'function') page(request, response)
    else if (page === undefined) response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not Found</h1>')
    else response.writeHead(200, { 'content-length': Buffer.byteLength(page) }).end(page)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
