/** Order to the sending process, and its report. */
export interface LoadOrder {
  readonly url: string
  readonly clients: number
  readonly seconds: number
  /** Ids of the keys to send with, in turn. */
  readonly keys: { readonly from: number; readonly to: number }
  /** The first of one workspace's numbers, to be named as `from`; null to name none. */
  readonly firstNumber: number | null
}

export interface LoadReport {
  readonly seconds: number
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>
}
