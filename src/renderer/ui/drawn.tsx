import { Component, type ReactNode } from 'react'
import { Button } from './button.tsx'

interface DrawnProps {
  /** What could not be drawn, as people call it: `The page Hosts`. */
  what: string
  /** Another one means another thing to draw: the next try is its own. */
  of: string
  children: ReactNode
}

const DETAIL_CHARS = 2_000

/** Keeps a part that fails while it is drawn from taking the rest of the window with it, and says so in its place. */
export class Drawn extends Component<DrawnProps, { error: Error | undefined; of: string }> {
  override state = { error: undefined as Error | undefined, of: this.props.of }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  static getDerivedStateFromProps({ of }: DrawnProps, state: { of: string }) {
    return of === state.of ? null : { of, error: undefined }
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    const details = `${this.props.what} (${this.props.of})\n${error.stack ?? String(error)}`.slice(0, DETAIL_CHARS)
    return (
      <div
        role="alert"
        aria-label="could not be drawn"
        className="m-auto grid h-full max-w-lg content-center gap-3 p-6"
      >
        <h1 className="font-semibold text-lg">{this.props.what} could not be drawn.</h1>
        <p className="text-dim">
          This is a fault of Eitri’s window. Hosts and VMs are not touched, and the other pages work. Try again, or copy
          the details for a report.
        </p>
        <div className="flex gap-2">
          <Button look="primary" onClick={() => this.setState({ error: undefined })}>
            Try again
          </Button>
          <Button onClick={() => void navigator.clipboard.writeText(details)}>Copy details</Button>
        </div>
      </div>
    )
  }
}
