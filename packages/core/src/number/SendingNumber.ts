/** A number that a workspace sends from: a linked WhatsApp phone or a Telegram account. */
import type { NumberId, WorkspaceId } from "../id/Ids.ts"

export type Platform = "whatsapp" | "telegram"

export type NumberStatus = "connected" | "connecting" | "disconnected"

export type LoginMethod = "qr" | "phone_code"

export interface SendingNumber {
  readonly id: NumberId
  readonly workspaceId: WorkspaceId
  /** Digits with country code, no `+`; null until a QR code was scanned. */
  readonly phone: string | null
  readonly label: string
  readonly platform: Platform
  readonly status: NumberStatus
  readonly loginMethod: LoginMethod
  readonly createdAt: number
}
