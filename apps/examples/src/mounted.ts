/** What the examples of mounting share: the service below a path of a server. */
import { open } from "@messaging-service/service"
import type { Messaging } from "@messaging-service/service"

/** A server's address, and how it stops together with the service. */
export interface Mounted {
  readonly url: string
  readonly stop: () => Promise<void>
}

export const openService = (operatorToken: string): Promise<Messaging> =>
  open({ http: { basePath: "/messaging", operatorToken } })
