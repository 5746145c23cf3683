/** Sending numbers of a workspace, and linking them to phones; number checks. */
import type { Listing, Made, Mode, PageOptions, Platform, RepeatOptions } from "./common.ts"

/** Only a connected number sends; messages of others wait. */
export type NumberStatus = "connected" | "connecting" | "disconnected"

/** How to link a number: scan a QR code, or type a code on the phone. */
export type LoginMethod = "qr" | "phone_code"

/** A number. */
export interface SendingNumber {
  /** The `from` of messages and reminders. */
  readonly id: number
  /** Digits with country code, no +; null until a phone scans the QR code. */
  readonly phone: string | null
  /** Display name; may be empty. */
  readonly label: string
  /** The number's platform. */
  readonly platform: Platform
  /** Whether it can send. */
  readonly status: NumberStatus
  /** How to link it. */
  readonly loginMethod: LoginMethod
}

/** What to scan or type while a number links. */
export interface LinkView {
  /** Text of the current QR code, for you to draw; null until there is one, and with `phone_code`. */
  readonly qrText: string | null
  /**
   * Link to a PNG of the QR code, valid for 10 minutes; each call makes a new one. `handler` serves
   * it.
   */
  readonly qrCodeUrl: string | null
  /** When another QR code replaces the shown one; null without one. */
  readonly qrCodeExpiresAt: Date | null
  /** Code of 8 characters to type on the phone; null until it is ready. */
  readonly pairingCode: string | null
  /** When another pairing code replaces it. */
  readonly pairingCodeExpiresAt: Date | null
  /** True from the scan or code entry until linking finishes. */
  readonly linking: boolean
  /** When linking began. It ends after 10 minutes. */
  readonly requestedAt: Date | null
  /** When linking ends unless a phone takes a code. */
  readonly endsAt: Date | null
}

/** A number with its current linking code. */
export interface NumberView extends SendingNumber {
  /** Null unless `status` is `connecting`. */
  readonly connect: LinkView | null
}

/** How many new chats WhatsApp lets a number open. */
export interface NewChatCap {
  /** Null without a cap. */
  readonly limit: number | null
  /** New chats of the period. */
  readonly used: number
  /** When `used` starts again; null when unknown. */
  readonly resetsAt: Date | null
  /** How near the cap is. */
  readonly warning: "none" | "first" | "second" | "capped"
}

/** What WhatsApp lets a number do with people who never wrote to it. */
export interface Restrictions {
  /** The number. */
  readonly numberId: number
  /**
   * `new_chats_closed`: people who never wrote to the number cannot be written to. `unknown`: not asked
   * yet, not connected, or refused; always for Telegram.
   */
  readonly state: "none" | "new_chats_closed" | "unknown"
  /** End of `new_chats_closed`; null when unknown. */
  readonly until: Date | null
  /** WhatsApp's name of the reason; null for none. */
  readonly reason: string | null
  /** How many new chats the number may open; null when unknown. */
  readonly newChats: NewChatCap | null
  /** When WhatsApp was last asked or told of it; null for never. */
  readonly checkedAt: Date | null
}

/** A number to link, or to link again. */
export interface ConnectNumber {
  /** How to link it. Default: `qr`. */
  readonly loginMethod?: LoginMethod | undefined
  /** Required with `phone_code`: E.164 with a leading +. Unused with `qr`. */
  readonly phone?: string | undefined
  /** Reconnects this number instead of adding one. Required for a key limited to some numbers. */
  readonly numberId?: number | undefined
}

/** Numbers that one caller sees. */
export interface NumbersApi {
  /** Every number that the caller may use, oldest first. Fails with nothing of its own. */
  readonly list: () => Promise<ReadonlyArray<SendingNumber>>
  /** The number, with its current linking code. Fails with `number_not_found`. */
  readonly get: (id: number) => Promise<NumberView>
  /**
   * Starts linking a new number, or an existing one again. Read the code with `get`, or use `link`.
   * Fails with `validation_failed`, `plan_required`, `number_limit_reached`, `number_not_found`,
   * `number_not_allowed`, `already_connected`, `connect_in_progress`, `invalid_phone`, and the codes
   * of `idempotencyKey`.
   */
  readonly connect: (
    command?: ConnectNumber,
    options?: RepeatOptions,
  ) => Promise<Made<SendingNumber>>
  /**
   * Links a number and yields each change: new codes, the scan, and at last `connected` or
   * `disconnected`, which ends the loop. Leaving the loop does not stop the linking. Fails as
   * `connect` does.
   */
  readonly link: (command?: ConnectNumber) => AsyncIterable<NumberView>
  /**
   * What WhatsApp lets the number do with people who never wrote to it, as last heard; `unknown` while
   * conversations are off. Fails with `number_not_found`.
   */
  readonly restrictions: (id: number) => Promise<Restrictions>
  /** PNG of the number's current QR code; null when it shows none. Fails with `number_not_found`. */
  readonly qrCode: (id: number) => Promise<Uint8Array | null>
}

/** Phones to look up on WhatsApp. */
export interface CheckNumbers {
  /** 1 to 1,000 phones, E.164 with a leading +. */
  readonly phones: ReadonlyArray<string>
  /** A note, not blank. At most 100 characters. */
  readonly name?: string | null | undefined
  /** Id of the connected WhatsApp number that asks. Default: the only connected one. */
  readonly from?: number | null | undefined
}

/** A list of phones, and which of them are on WhatsApp. */
export interface NumberCheck {
  /** Unique in the store. */
  readonly id: number
  /** Its workspace. */
  readonly workspaceId: number
  /**
   * A `test` check does not ask WhatsApp. It reports every phone as registered except those that end
   * in 0000.
   */
  readonly mode: Mode
  /** The number that asks. */
  readonly numberId: number
  /** The note. */
  readonly name: string | null
  /** `completed` once every phone has a result. */
  readonly status: "pending" | "processing" | "completed"
  /** Results; a repeated phone counts each time. */
  readonly total: number
  /** Results that are no longer pending. */
  readonly checked: number
  /** Phones that are on WhatsApp. */
  readonly registered: number
  /** Phones that are not. */
  readonly notRegistered: number
  /** Creation time. */
  readonly createdAt: Date
  /** Completion time; null before. */
  readonly completedAt: Date | null
}

/** `failed`: the check found no answer. */
export type CheckResultStatus = "pending" | "registered" | "not_registered" | "failed"

/** One phone of a check. */
export interface NumberCheckResult {
  /** Unique in the store. */
  readonly id: number
  /** E.164 with a leading +. */
  readonly phone: string
  /** `failed`: could not be determined. */
  readonly status: CheckResultStatus
  /** When the result arrived; null while it is pending. */
  readonly checkedAt: Date | null
}

/** Filters results of a check. */
export interface ListCheckResults extends PageOptions {
  /** One or several. */
  readonly status?: CheckResultStatus | ReadonlyArray<CheckResultStatus> | undefined
}

/** Number checks of one workspace, in one mode. The service keeps them for 30 days. */
export interface NumberChecksApi {
  /**
   * Stores a check; the worker asks WhatsApp afterwards. Fails with `validation_failed`,
   * `invalid_phone`, `from_required`, `number_not_found`, `number_not_allowed`,
   * `number_not_connected`, and the codes of `idempotencyKey`.
   */
  readonly create: (command: CheckNumbers, options?: RepeatOptions) => Promise<Made<NumberCheck>>
  /** The check as it is now. Fails with `number_check_not_found`. */
  readonly get: (id: number) => Promise<NumberCheck>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: PageOptions) => Listing<NumberCheck>
  /**
   * Results for each phone, newest first. Fails with `number_check_not_found`, `validation_failed`,
   * `invalid_cursor`.
   */
  readonly results: (id: number, query?: ListCheckResults) => Listing<NumberCheckResult>
}
