/** What a test tells the process that it kills. */
import type { layer } from "@messaging-service/store-postgres"

export const seams = ["before the commit", "in the commit", "after the commit"] as const

export interface ReceiverOptions {
  readonly address: Parameters<typeof layer>[0]
  readonly secretsKey: string
  /** The WhatsApp server. */
  readonly url: string
  /** Where it ends itself; null for nowhere. */
  readonly seam: (typeof seams)[number] | null
  /** In which of its commits, from 1. */
  readonly commit: number
}
