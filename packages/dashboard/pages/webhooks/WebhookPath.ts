/** The ids of one endpoint's operations. */
export interface WebhookPath {
  readonly id: number
  readonly webhook_id: number
}
