/** Order to the process that receives webhooks, and its report. */
export interface ReceiverOrder {
  /** By path: what the calls to it have to be signed with. */
  readonly secrets: Readonly<Record<string, string>>
}

/** Of all calls since the last order. */
export interface ReceiverReport {
  readonly calls: number
  /** Different pairs of path and event. */
  readonly deliveries: number
  /** Calls whose signature is not the one of their path's secret, time and body. */
  readonly wronglySigned: number
  /** Calls whose body is not the event that the headers name. */
  readonly wrongBodies: number
  /** Connections that were opened. */
  readonly connections: number
}
