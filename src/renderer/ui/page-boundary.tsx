import { Component, type ErrorInfo, type ReactNode } from 'react'
import { Fault } from '../../ipc/faults.ts'
import { Button } from './button.tsx'
import { FaultNotice } from './fault-notice.tsx'

interface Caught {
  error: unknown
}

interface BoundaryProps {
  /** Another one is drawn anew. */
  page: string
  /** Of what says it. */
  className?: string
  children: ReactNode
}

/** A page or sheet that breaks says so in its own place: the rest of the window, and everything behind it, goes on. */
export class PageBoundary extends Component<BoundaryProps, Caught> {
  override state: Caught = { error: undefined }

  static getDerivedStateFromError(error: unknown): Caught {
    return { error }
  }

  override componentDidUpdate(before: BoundaryProps): void {
    if (before.page !== this.props.page && this.state.error !== undefined) this.setState({ error: undefined })
  }

  override componentDidCatch(error: Error, info: ErrorInfo): void {
    console.error(error, info.componentStack)
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    const detail = error instanceof Error ? error.message : String(error)
    return (
      <div className={this.props.className ?? 'h-full bg-panel p-5'}>
        <FaultNotice
          fault={new Fault('app/bug', 'bug', { detail }).toData()}
          words={{
            what: `This part of the window met a fault inside Eitri: ${detail}.`,
            effect: 'Everything else goes on, and so do your VMs.',
            next: 'Show it again, or go elsewhere. Please report it with the details.',
          }}
          actions={
            <Button size="small" onClick={() => this.setState({ error: undefined })}>
              Show it again
            </Button>
          }
        />
      </div>
    )
  }
}
