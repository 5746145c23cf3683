/** Around what a panel shows: where drawing it fails, what it showed before stays, and so does the page around it. */
import { Component } from "react"
import type { ReactNode } from "react"
import { Failure, notVisible } from "./parts.tsx"

interface Props {
  /** What the panel is drawn from: another value is drawn again after a failure. */
  readonly of: unknown
  readonly children: ReactNode
  /** Says nothing of a failure. Default: false. */
  readonly quiet?: boolean
}

interface State {
  readonly of: unknown
  readonly hasFailed: boolean
}

export class Boundary extends Component<Props, State> {
  /** The last children that could be drawn: elements hold what they are drawn from. */
  drawn: ReactNode = null
  override state: State = { of: undefined, hasFailed: false }

  static getDerivedStateFromProps({ of }: Props, state: State): State | null {
    return of === state.of ? null : { of, hasFailed: false }
  }

  static getDerivedStateFromError(): Pick<State, "hasFailed"> {
    return { hasFailed: true }
  }

  override componentDidMount(): void {
    this.componentDidUpdate()
  }

  override componentDidUpdate(): void {
    if (!this.state.hasFailed) this.drawn = this.props.children
  }

  override render(): ReactNode {
    const { children, of, quiet = false } = this.props
    if (!this.state.hasFailed) return children
    return (
      <>
        {!quiet && <Failure error={notVisible} />}
        {this.drawn !== null && (
          <Boundary of={of} quiet>
            {this.drawn}
          </Boundary>
        )}
      </>
    )
  }
}
